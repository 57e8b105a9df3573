package envelope

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Bury adds a death to a text, keeping every field it does not know. A text that is no envelope becomes a header of one,
// so that it is not lost.
func Bury(envelope string, d Death) string {
	fields := open(envelope)
	var deaths []json.RawMessage
	_ = json.Unmarshal(fields["d"], &deaths) // what is no list of deaths is dropped
	deaths = append(deaths, raw(d.cut()))
	if len(deaths) > maxDeaths {
		deaths = deaths[len(deaths)-maxDeaths:]
	}
	fields["d"] = raw(deaths)
	return text(fields)
}

// Pack adds headers to a text, for attributes that a service has no room for; a header that is there already stays.
func Pack(envelope string, headers map[string]string) string {
	fields := open(envelope)
	pack(fields, headers)
	return text(fields)
}

// open reads a text as fields. It has a version, whatever the text is.
func open(envelope string) map[string]json.RawMessage {
	envelope = strings.ToValidUTF8(envelope, string(utf8.RuneError))
	var fields map[string]json.RawMessage
	broken := json.Unmarshal([]byte(envelope), &fields) != nil || fields == nil
	if broken {
		fields = map[string]json.RawMessage{}
	}
	if _, versioned := fields["v"]; !versioned {
		fields["v"] = raw(Version)
	}
	if broken && envelope != "" {
		pack(fields, map[string]string{original: envelope})
	}
	return fields
}

func pack(fields map[string]json.RawMessage, headers map[string]string) {
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(fields["h"], &all) // what is no object holds no headers
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for name, value := range headers {
		if _, there := all[name]; !there {
			all[name] = raw(value)
		}
	}
	fields["h"] = raw(all)
}

// cut brings a death's texts within their bounds.
func (d Death) cut() Death {
	d.Error = cut(d.Error, maxErrorText)
	for _, s := range []*string{&d.Kind, &d.Consumer, &d.Channel, &d.ID, &d.OrderKey} {
		*s = cut(*s, maxName)
	}
	return d
}

// cut shortens a text to at most n bytes of valid UTF-8.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= n {
		return s
	}
	const more = "…"
	n -= len(more)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}

// raw is a value as JSON.
func raw(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // see text
	}
	return out
}

// text is a value as JSON that every service takes: json escapes control characters, and this does the two
// non-characters, which can stand inside of strings only.
func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and slices of strings, numbers and times of this era cannot fail
	}
	return escaped(string(out))
}

// nonCharacters is what the UTF-8 of U+FFFE and U+FFFF begins with, and of 62 other characters.
const nonCharacters = "\xEF\xBF"

// escaped is a JSON text with its non-characters in JSON's escapes. A text without any, as nearly all are, is not copied.
func escaped(text string) string {
	if !strings.Contains(text, nonCharacters) {
		return text
	}
	text = strings.ReplaceAll(text, "\uFFFE", `\ufffe`)
	return strings.ReplaceAll(text, "\uFFFF", `\uffff`)
}
