package transport

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// message is one message of the browser; its parts alias the text.
type message struct {
	id      int64 // 0: an event
	session []byte
	method  []byte
	params  []byte
	result  []byte
	failure []byte
}

// split finds the members of a message. It trusts the browser to write JSON: a
// text that is none is refused or has parts without sense, and never more.
func split(text []byte) (message, bool) {
	var m message
	i := space(text, 0)
	if i == len(text) || text[i] != '{' {
		return m, false
	}
	for i = space(text, i+1); i < len(text) && text[i] != '}'; {
		end := skip(text, i)
		if end < 0 || text[i] != '"' {
			return m, false
		}
		name := text[i+1 : end-1]
		if i = space(text, end); i == len(text) || text[i] != ':' {
			return m, false
		}
		i = space(text, i+1)
		if end = skip(text, i); end < 0 {
			return m, false
		}
		value := text[i:end]
		switch string(name) {
		case "id":
			id, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return m, false
			}
			m.id = id
		case "method":
			m.method = plain(value)
		case "sessionId":
			m.session = plain(value)
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.failure = value
		}
		if i = space(text, end); i < len(text) && text[i] == ',' {
			i = space(text, i+1)
		}
	}
	return m, m.id != 0 || len(m.method) > 0
}

// plain gives what stands between the quotes; names and ids have no escapes.
func plain(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// skip gives the end of the value that begins at i, -1 when there is none.
func skip(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i = skipString(text, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return -1
			}
		default: // a number or a word
			if depth > 0 {
				break
			}
			if n := bytes.IndexAny(text[i:], ",:{}[]\" \n\r\t"); n >= 0 {
				return i + n
			}
			return len(text)
		}
		i++
	}
	return -1
}

// skipString gives what follows the string that begins at i.
func skipString(text []byte, i int) int {
	for j := i + 1; ; j++ {
		n := bytes.IndexByte(text[j:], '"')
		if n < 0 {
			return -1
		}
		j += n
		slashes := 0
		for text[j-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return j + 1
		}
	}
}

// answerID reads the id at the beginning of an answer.
func answerID(head []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(head, []byte(`{"id":`))
	if !ok {
		return 0, false
	}
	n := 0
	for n < len(rest) && n < 19 && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	id, err := strconv.ParseInt(string(rest[:n]), 10, 64)
	return id, err == nil
}

// repair makes text one that a strict decoder takes: escapes of surrogates
// without their other half, which pages can make, become U+FFFD, as bytes that
// are no UTF-8 do. It changes text in place where it can.
func repair(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	for i := 0; ; {
		n := bytes.Index(text[i:], []byte(`\u`))
		if n < 0 {
			return text
		}
		i += n
		slashes := 0
		for i-1-slashes >= 0 && text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 { // an escaped backslash, and a letter u
			i += 2
			continue
		}
		switch half(text, i) {
		case high:
			if half(text, i+6) == low {
				i += 12
				continue
			}
			copy(text[i:], `\ufffd`)
		case low:
			copy(text[i:], `\ufffd`)
		}
		i += 2
	}
}

const (
	neither = iota
	high
	low
)

// half says which half of a surrogate pair the escape at i is.
func half(text []byte, i int) int {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' || text[i+2]|0x20 != 'd' || !hex(text[i+4]) || !hex(text[i+5]) {
		return neither
	}
	switch text[i+3] | 0x20 {
	case '8', '9', 'a', 'b':
		return high
	case 'c', 'd', 'e', 'f':
		return low
	}
	return neither
}

func hex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }
