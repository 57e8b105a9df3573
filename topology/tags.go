package topology

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

const (
	maxTags     = 50 - 12 // SQS allows 50, and Godwit sets up to 12
	maxTagValue = 256
)

// ownTags are tags that Godwit sets, each with what to write instead.
var ownTags = map[string]string{
	"managed-by": "", "channel": "", "role": "", "namespace": "", "topology": "name",
	"owner": "owner", "environment": "environment", "critical": "critical", "keep": "keep",
	"alarm-age": "alarms", "alarm-depth": "alarms", "alarm-dead-letters": "alarms",
}

func (c *checker) tags(path, owner string, tags map[string]string) {
	c.tagValue(path+".owner", owner)
	if len(tags) > maxTags {
		c.add(path+".tags", "it has %d tags, and there is room for %d beside those of Godwit", len(tags), maxTags)
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		at := path + ".tags." + name
		key, own := ownTags[name]
		switch {
		case own && key != "":
			c.add(at, "this tag has a key of its own: write %s", key)
		case own:
			c.add(at, "Godwit sets this tag itself: use another name")
		case name == "" || len(name) > 128:
			c.add(at, "the name of a tag has 1 to 128 characters")
		case strings.HasPrefix(strings.ToLower(name), "aws:"):
			c.add(at, "AWS keeps names that begin with aws: for itself: use another name")
		default:
			c.tagText(at, name)
		}
		c.tagValue(at, tags[name])
	}
}

func (c *checker) tagValue(path, value string) {
	if len(value) > maxTagValue {
		c.add(path, "it has %d characters, and the value of a tag has at most %d", len(value), maxTagValue)
	}
	c.tagText(path, value)
}

// tagText checks the characters of a tag, which are the same for all services of AWS.
func (c *checker) tagText(path, text string) {
	for _, r := range text {
		if !unicode.In(r, unicode.L, unicode.N, unicode.Z) && !strings.ContainsRune("_.:/=+-@", r) {
			c.add(path, "%q has %q: the name and the value of a tag can have letters, digits, spaces and _ . : / = + - @",
				text, r)
			return
		}
	}
}
