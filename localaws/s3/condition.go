package s3

import (
	"net/http"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// writeCondition returns the condition of a write.
func writeCondition(match, noneMatch string) (bucket.Condition, error) {
	switch {
	case match != "" && noneMatch != "":
		return bucket.Condition{}, notImplementedHeader("If-Match,If-None-Match",
			"Multiple conditional request headers present in the request")
	case noneMatch != "" && noneMatch != "*":
		return bucket.Condition{}, notImplementedHeader("If-None-Match",
			"We don't accept the provided value of If-None-Match header for this API")
	case match == "*":
		return bucket.Condition{}, notImplementedHeader("If-Match",
			"We don't accept the provided value of If-Match header for this API")
	}
	return bucket.Condition{Absent: noneMatch == "*", ETag: strings.Trim(match, `"`)}, nil
}

func notImplementedHeader(name, more string) error {
	return rest.Refuse(501, "NotImplemented", "A header you provided implies functionality that is not implemented",
		"Header", name, "additionalMessage", more)
}

// ReadConditions are the conditions of a read.
type ReadConditions struct {
	match, noneMatch, modifiedSince, unmodifiedSince string
	prefix                                           string // of the headers' names in errors
}

// names reports whether a list of ETags has that of an object.
func namesETag(list, etag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "W/"), `"`)
		if one == etag || one == "*" {
			return true
		}
	}
	return false
}

// failed returns the condition that an object does not satisfy; "": there is none. unchanged says that the client has
// the object already.
func (r ReadConditions) failed(o *bucket.Object, now time.Time) (condition string, unchanged bool) {
	since := func(text string) (time.Time, bool) {
		t, err := http.ParseTime(text)
		return t, err == nil
	}
	if r.match != "" && !namesETag(r.match, o.ETag) {
		return r.prefix + "If-Match", false
	}
	if t, ok := since(r.unmodifiedSince); ok && r.match == "" && o.Modified.After(t) {
		return r.prefix + "If-Unmodified-Since", false
	}
	if r.noneMatch != "" {
		if namesETag(r.noneMatch, o.ETag) {
			return r.prefix + "If-None-Match", true
		}
		return "", false
	}
	if t, ok := since(r.modifiedSince); ok && !t.After(now) && !o.Modified.After(t) {
		return r.prefix + "If-Modified-Since", true
	}
	return "", false
}

// check returns the answer to a read whose conditions fail.
func (r ReadConditions) check(o *bucket.Object, now time.Time) error {
	condition, unchanged := r.failed(o, now)
	switch {
	case condition == "":
		return nil
	case unchanged:
		same := rest.Refuse(304, "NotModified", "Not Modified")
		same.Header = map[string]string{
			"ETag": quote(o.ETag), "Last-Modified": o.Modified.UTC().Format(http.TimeFormat),
		}
		return same
	}
	return preconditionFailed(condition)
}
