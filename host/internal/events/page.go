package events

import (
	"strconv"

	"github.com/vant-run/vant/internal/wire"
)

// Page is the answer to a look into the ring. It shares the events' data with
// the ring and must not be modified.
type Page struct {
	Latest  uint64 // sequence of the newest event ever appended, 0 for none
	Dropped uint64 // events that fell out of the ring since the last Clear
	Epoch   string
	Events  []Event // ascending
}

// timeLayout is RFC 3339 with milliseconds, for times in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

// AppendJSON appends the page as the result of events.since:
//
//	{"latest":9,"dropped":0,"epoch":"…","events":[{"sequence":9,"type":"tab.created","time":"…","data":{…}}]}
func (p Page) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"latest":`...)
	dst = strconv.AppendUint(dst, p.Latest, 10)
	dst = append(dst, `,"dropped":`...)
	dst = strconv.AppendUint(dst, p.Dropped, 10)
	dst = append(dst, `,"epoch":`...)
	dst = wire.AppendString(dst, p.Epoch)
	dst = append(dst, `,"events":[`...)
	for i := range p.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.Events[i].AppendJSON(dst)
	}
	return append(dst, ']', '}')
}

// AppendJSON appends one event as it stands in a page.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"sequence":`...)
	dst = strconv.AppendUint(dst, e.Sequence, 10)
	dst = append(dst, `,"type":`...)
	dst = wire.AppendString(dst, e.Type)
	dst = append(dst, `,"time":"`...)
	dst = e.Time.AppendFormat(dst, timeLayout)
	dst = append(dst, `","data":`...)
	dst = append(dst, e.Data...)
	return append(dst, '}')
}
