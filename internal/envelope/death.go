package envelope

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// AddDeath adds a death to the text of an envelope, and keeps the fields that it does not know. A text that is not an
// envelope is kept as a header of a new one.
func AddDeath(envelope string, d Death) string {
	fields := open(envelope)
	var deaths []json.RawMessage
	_ = json.Unmarshal(fields["d"], &deaths) // a value that is not a list of deaths is dropped
	deaths = append(deaths, raw(d.cut()))
	if len(deaths) > maxDeaths {
		deaths = deaths[len(deaths)-maxDeaths:]
	}
	fields["d"] = raw(deaths)
	return JSON(fields)
}

// IDsOf returns the ids of the messages that died; nil: there are none.
func IDsOf(deaths []Death) []string {
	if len(deaths) == 0 {
		return nil
	}
	ids := make([]string, len(deaths))
	for i := range deaths {
		ids[i] = deaths[i].ID
	}
	return ids
}

// open parses a text into fields. The result always has a version.
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
		addHeaders(fields, map[string]string{original: envelope})
	}
	return fields
}

func addHeaders(fields map[string]json.RawMessage, headers map[string]string) {
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(fields["h"], &all) // a value that is not an object has no headers
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

// cut shortens a death's texts to their bounds.
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

// raw encodes a value as JSON.
func raw(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // see JSON
	}
	return out
}

// JSON encodes a value as JSON that every service accepts. Package json escapes control characters, and escaped does it
// for the two non-characters, which occur only inside of strings.
func JSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and slices of strings, numbers and times can be encoded
	}
	return escaped(string(out))
}

// nonCharacters is the beginning of U+FFFE and U+FFFF in UTF-8, and of 62 other characters.
const nonCharacters = "\xEF\xBF"

// escaped replaces the non-characters in a JSON text by escapes. A text without them, which is the normal case, is not
// copied.
func escaped(text string) string {
	if !strings.Contains(text, nonCharacters) {
		return text
	}
	text = strings.ReplaceAll(text, "\uFFFE", `\ufffe`)
	return strings.ReplaceAll(text, "\uFFFF", `\uffff`)
}
