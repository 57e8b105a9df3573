package bucket

import "strings"

// Query selects objects of a bucket.
type Query struct {
	Prefix    string
	Delimiter string // "": keys are not grouped
	After     string // keys up to this one, and the group that it is in, are left out
	Limit     int
}

// Page is the answer to a Query, in order of keys.
type Page struct {
	Objects []*Object
	Groups  []string // common prefixes
	Last    string   // the last key or group of the page; "": the page is empty
	More    bool
}

// first returns the position of the first object of a query.
func (x *index) first(q Query) position {
	if q.After < q.Prefix {
		return x.seek(q.Prefix)
	}
	if group, grouped := q.Group(q.After); grouped {
		return x.behind(group)
	}
	return x.seek(q.After + "\x00")
}

// Group returns the common prefix of a key; false: the key is listed itself.
func (q Query) Group(key string) (group string, grouped bool) {
	if q.Delimiter == "" || !strings.HasPrefix(key, q.Prefix) {
		return "", false
	}
	head, _, found := strings.Cut(key[len(q.Prefix):], q.Delimiter)
	return q.Prefix + head + q.Delimiter, found
}

// behind returns the position of the first object behind every key with a prefix.
func (x *index) behind(prefix string) position {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return position{len(x.chunks), 0}
	}
	end[len(end)-1]++
	return x.seek(string(end))
}
