package wire

// shortString is up to which length the end of a string is looked for byte by
// byte. The processor guesses such an end and goes on behind it, while what
// eight bytes at a time find has to be waited for.
const shortString = 12

// Valid reports whether text is exactly one JSON value: syntax, UTF-8 and
// depth. It does not look for duplicate names, so that it costs little on
// large results. Compact says that there is no whitespace outside strings; a
// text that is not compact may hold newlines. The error is a *SyntaxError.
func Valid(text []byte) (compact bool, err error) {
	compact, ok := valid(text)
	if ok {
		return compact, nil
	}
	return false, explain(text)
}

// explain finds the first fault of a text that valid refused.
func explain(text []byte) error {
	c := newChecker(text)
	defer c.free()
	c.loose = true
	if err := c.whole(nil); err != nil {
		return err
	}
	return &SyntaxError{Message: "not JSON"}
}

// valid is one loop with its state in the place where it stands: after a value
// it looks at the innermost open container. Objects are bits in a stack.
func valid(p []byte) (compact, ok bool) {
	var stack [(MaxDepth + 64) / 64]uint64
	var (
		i      int
		depth  int
		object bool // the innermost container
		spaces bool
		end    int
	)

value:
	if i >= len(p) {
		return false, false
	}
	switch c := p[i]; c {
	case '"':
		i++
		for j := i; j < len(p) && j < i+shortString; j++ {
			if !plain[p[j]] {
				if p[j] == '"' {
					i = j + 1
					goto after
				}
				break
			}
		}
		end = stringEnd(p, i)
		if end < 0 {
			return false, false
		}
		i = end
	case '{':
		if depth >= MaxDepth {
			return false, false
		}
		depth++
		stack[depth>>6] |= 1 << (depth & 63)
		object = true
		i++
		if i < len(p) && p[i] <= ' ' {
			spaces = true
			i = skipSpaces(p, i)
		}
		if i < len(p) && p[i] == '}' {
			i++
			goto closed
		}
		goto name
	case '[':
		if depth >= MaxDepth {
			return false, false
		}
		depth++
		stack[depth>>6] &^= 1 << (depth & 63)
		object = false
		i++
		if i < len(p) && p[i] <= ' ' {
			spaces = true
			i = skipSpaces(p, i)
		}
		if i < len(p) && p[i] == ']' {
			i++
			goto closed
		}
		goto value
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '-':
		// Short integers, the most of all numbers, need no call.
		if c-'1' < 9 {
			for i++; i < len(p) && p[i]-'0' <= 9; i++ {
			}
			if i < len(p) && (p[i] == ',' || p[i] == '}') {
				goto after
			}
			if i = scanFraction(p, i); i < 0 {
				return false, false
			}
			goto after
		}
		if i = scanNumber(p, i); i < 0 {
			return false, false
		}
	case 't', 'f', 'n':
		i = scanLiteral(p, i)
		if i < 0 {
			return false, false
		}
	case ' ', '\n', '\r', '\t':
		spaces = true
		i = skipSpaces(p, i)
		goto value
	default:
		return false, false
	}

after:
	if depth == 0 {
		if i < len(p) {
			spaces = true
			i = skipSpaces(p, i)
		}
		return !spaces, i == len(p)
	}
	if i >= len(p) {
		return false, false
	}
	if p[i] == ',' {
		i++
		if !object {
			goto value
		}
		goto name
	}
	if p[i] <= ' ' {
		spaces = true
		if j := skipSpaces(p, i); j > i {
			i = j
			goto after
		}
		return false, false
	}
	if object && p[i] != '}' || !object && p[i] != ']' {
		return false, false
	}
	i++

closed:
	depth--
	object = stack[depth>>6]>>(depth&63)&1 != 0
	goto after

name:
	if i >= len(p) {
		return false, false
	}
	if p[i] != '"' {
		if p[i] <= ' ' {
			spaces = true
			if j := skipSpaces(p, i); j > i {
				i = j
				goto name
			}
		}
		return false, false
	}
	i++
	for j := i; j < len(p) && j < i+shortString; j++ {
		if !plain[p[j]] {
			if p[j] == '"' {
				i = j + 1
				goto colon
			}
			break
		}
	}
	end = stringEnd(p, i)
	if end < 0 {
		return false, false
	}
	i = end

colon:
	if i >= len(p) {
		return false, false
	}
	if p[i] == ':' {
		i++
		goto value
	}
	if p[i] <= ' ' {
		spaces = true
		if j := skipSpaces(p, i); j > i {
			i = j
			goto colon
		}
	}
	return false, false
}

// stringEnd is scanString for those who ask for the end alone.
func stringEnd(p []byte, i int) int {
	end, _, _ := scanString(p, i)
	return end
}
