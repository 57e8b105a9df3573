package rest

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// address splits a request's path, and its host, into bucket and key.
func (m *Mux) address(r *http.Request) (bucket, key string, level Level, err *Error) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if !m.service.PathOnly {
		bucket = m.hostBucket(r, path)
	}
	if bucket == "" {
		bucket, path, _ = strings.Cut(path, "/")
		if bucket, err = unescape(bucket); err != nil {
			return "", "", Root, err
		}
	}
	if bucket == "" {
		return "", "", Root, nil
	}
	if key, err = unescape(path); err != nil {
		return "", "", Root, err
	}
	if key == "" {
		return bucket, "", Bucket, nil
	}
	return bucket, key, Object, nil
}

func unescape(path string) (string, *Error) {
	text, err := url.PathUnescape(path)
	if err != nil || !utf8.ValidString(text) {
		return "", Refuse(400, "InvalidURI", "Couldn't parse the specified URI.", "URI", path)
	}
	return text, nil
}

// hostBucket returns the bucket that the host names; "": the path names it. In a host of AWS and in one with a label
// s3, the bucket comes before that label; below localhost and localaws, it is what comes before. In any other host it
// is the name of an existing bucket, with which the host begins, or, if the path is empty and the method is not GET,
// the first label: only an action on a bucket is called in this way.
func (m *Mux) hostBucket(r *http.Request, path string) string {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(host, ".")
	if net.ParseIP(strings.Trim(host, "[]")) != nil || !strings.Contains(host, ".") {
		return ""
	}
	if strings.HasPrefix(host, "s3.") || strings.HasPrefix(host, "s3-") {
		return ""
	}
	for _, mark := range []string{".s3.", ".s3-"} {
		if i := strings.LastIndex(host, mark); i > 0 {
			return host[:i]
		}
	}
	for _, domain := range m.opts.Domains {
		if host == domain {
			return ""
		}
		if name, ok := strings.CutSuffix(host, "."+domain); ok {
			return name
		}
	}
	for i := len(host); i > 0; i = strings.LastIndexByte(host[:i], '.') {
		if m.opts.Exists(host[:i]) {
			return host[:i]
		}
	}
	if path == "" && r.Method != http.MethodGet && r.Method != http.MethodPost {
		label, _, _ := strings.Cut(host, ".")
		return label
	}
	return ""
}
