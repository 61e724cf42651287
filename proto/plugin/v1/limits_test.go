package pluginv1

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/vant-run/vant/proto/envelope"
)

func TestTheLargestAnswerIsAMessage(t *testing.T) {
	answer := &InvokeResponse{Result: make([]byte, envelope.MaxResultBytes), Theme: make([]byte, 64<<10)}
	for range MaxCallEvents {
		answer.Events = append(answer.Events, &Event{Type: "a.b", Data: make([]byte, MaxCallEventBytes/MaxCallEvents-len("a.b"))})
	}
	if n := proto.Size(answer); n > MaxMessage {
		t.Errorf("an answer has %d bytes, a message at most %d", n, MaxMessage)
	}
}
