package shape

import (
	"regexp"
	"strings"
)

// longest bounds the part of a text that has a shape. The rest is cut off.
const longest = 2000

// What varies, in the order in which it is looked for: a time has numbers, and an address may have both.
const (
	times     = `\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`
	uuids     = `\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`
	addresses = `\b[a-z][a-z0-9+.-]*://[^\s"'<>)\]]*[^\s"'<>)\].,:;]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|` +
		`\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\[[0-9a-fA-F:]+\]:\d+|\b[\w-]+(?:\.[\w-]+)+:\d{2,5}\b`
	quoted  = `"(?:[^"\\\n]|\\.)*"|(?:^|[\s(=:,\[])'[^'\n]*'|` + "`[^`\n]*`"
	hex     = `\b(?:0x[0-9a-fA-F]+|[0-9a-fA-F]{8,})\b`
	numbers = `\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|s|m|h))+\b|` +
		`\b\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?(?:%|[kKMGT]i?B\b|B\b)?`
)

var varying = regexp.MustCompile(`(` + times + `)|(` + uuids + `)|(` + addresses + `)|(` + quoted + `)|(` + hex +
	`)|(` + numbers + `)`)

// placeholders are the placeholders of the groups of varying.
var placeholders = [...]string{"", "<time>", "<id>", "<address>", "<text>", "<id>", "<n>"}

// Of returns the shape of a text. White space counts as one space.
func Of(text string) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	var b strings.Builder
	end := 0
	for _, m := range varying.FindAllStringSubmatchIndex(text, -1) {
		group := 1
		for m[2*group] < 0 {
			group++
		}
		found := text[m[0]:m[1]]
		if group == 5 && !strings.ContainsAny(found, "0123456789") {
			continue // a word such as deadbeef, or facade
		}
		b.WriteString(text[end:m[0]])
		if group == 4 && found[0] != '"' && found[0] != '`' && found[0] != '\'' {
			b.WriteByte(found[0]) // what stands before an apostrophe that begins a quotation
		}
		b.WriteString(placeholders[group])
		end = m[1]
	}
	b.WriteString(text[end:])
	return strings.Join(strings.Fields(b.String()), " ")
}
