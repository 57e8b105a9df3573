package telemetry

import (
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// The headers of the standard of W3C.
const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
)

// Positions in a traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.
const (
	traceAt, spanAt, flagsAt = 3, 36, 53
	parentSize               = 55
)

const knownFlags = trace.FlagsSampled | trace.FlagsRandom

// parse reads the trace context of headers, as propagation.TraceContext does, but without a context and without
// allocations: each message is read for its poll, its handler and its settlement. The result is not valid if there is
// none, or if it is malformed.
func parse(headers godwit.Headers) trace.SpanContext {
	var parent, state string
	for i := range headers {
		switch headers[i].Name {
		case traceparent:
			parent = headers[i].Value
		case tracestate:
			state = headers[i].Value
		}
	}
	c, ok := parseParent(parent)
	if !ok {
		return trace.SpanContext{}
	}
	if state != "" && len(state) <= longestHeader {
		c.TraceState, _ = trace.ParseTraceState(state) // a malformed one is as none
	}
	return trace.NewSpanContext(c)
}

func parseParent(s string) (c trace.SpanContextConfig, ok bool) {
	if len(s) < parentSize || len(s) > longestHeader {
		return c, false
	}
	if s[traceAt-1] != '-' || s[spanAt-1] != '-' || s[flagsAt-1] != '-' {
		return c, false
	}
	var version, flags [1]byte
	if !unhex(version[:], s) || !unhex(c.TraceID[:], s[traceAt:]) || !unhex(c.SpanID[:], s[spanAt:]) ||
		!unhex(flags[:], s[flagsAt:]) {
		return c, false
	}
	c.TraceFlags, c.Remote = trace.TraceFlags(flags[0]), true
	switch {
	case version[0] == 0xff:
		return c, false
	case version[0] == 0 && (len(s) > parentSize || c.TraceFlags&^knownFlags != 0):
		return c, false // only later versions have more
	case len(s) > parentSize && s[parentSize] != '-':
		return c, false
	}
	c.TraceFlags &= knownFlags
	return c, c.TraceID.IsValid() && c.SpanID.IsValid()
}

// unhex decodes as many lower-case digits as the destination has places for.
func unhex(to []byte, s string) bool {
	s = s[:2*len(to)]
	var bad byte
	for i := range to {
		high, low := digits[s[2*i]], digits[s[2*i+1]]
		bad |= high | low
		to[i] = high<<4 | low
	}
	return bad <= 0xf
}

// digits is the values of lower-case hexadecimal digits. It is above 15 for other characters.
var digits = func() (table [256]byte) {
	for i := range table {
		table[i] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		table[c] = byte(i)
	}
	return table
}()

// headersOf writes a trace context, as propagation.TraceContext does.
func headersOf(c trace.SpanContext) godwit.Headers {
	if !c.IsValid() {
		return nil
	}
	traceID, spanID := c.TraceID(), c.SpanID()
	text := [parentSize]byte{0: '0', 1: '0', traceAt - 1: '-', spanAt - 1: '-', flagsAt - 1: '-'}
	hex.Encode(text[traceAt:], traceID[:])
	hex.Encode(text[spanAt:], spanID[:])
	hex.Encode(text[flagsAt:], []byte{byte(c.TraceFlags() & knownFlags)})
	state := c.TraceState().String()
	if state == "" {
		return godwit.Headers{{Name: traceparent, Value: string(text[:])}}
	}
	return godwit.Headers{
		driver.Header{Name: tracestate, Value: state}, driver.Header{Name: traceparent, Value: string(text[:])},
	}
}
