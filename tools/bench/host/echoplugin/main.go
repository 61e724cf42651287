// Echoplugin answers with its parameters, at once or after a while. It takes its
// name from its file, so that copies of it run side by side.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vant-run/vant/sdk"
)

const (
	textSchema  = `{"type":"object","properties":{"data":{"type":"string"}},"required":["data"]}`
	itemsSchema = `{"type":"object","properties":{"data":{"type":"array","items":{"type":"object","properties":{` +
		`"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":64},"ok":{"type":"boolean"},` +
		`"tags":{"type":"array","items":{"type":"string"}},"v":{"type":"number"}},"required":["id","name"]}}},"required":["data"]}`
)

func main() {
	exe, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	name := strings.TrimPrefix(filepath.Base(exe), "vant-plugin-")
	echo := func(_ context.Context, params json.RawMessage) (json.RawMessage, error) { return params, nil }
	p := sdk.New(name, "1.0.0", "Answers with its parameters.")
	sdk.HandleRaw(p, name+".text", "Echo of a text.", echo, sdk.ReadOnly(), sdk.ParamsSchema(textSchema))
	sdk.HandleRaw(p, name+".items", "Echo of a list of objects.", echo, sdk.ReadOnly(), sdk.ParamsSchema(itemsSchema))
	sdk.Handle(p, name+".sleep", "Answers after ms milliseconds.", func(ctx context.Context, in struct {
		MS int `json:"ms"`
	}) (bool, error) {
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
			return true, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}, sdk.ReadOnly(), sdk.Timeout(60*time.Second))
	sdk.Serve(p)
}
