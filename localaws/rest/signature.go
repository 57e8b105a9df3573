package rest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Scope is what the signature of a request says. Signatures are not checked.
type Scope struct {
	Key     string // the access key; "": the request is not signed
	Region  string // "": it is not signed, or by version 2
	Service string
}

// ScopeOf returns the scope of a request's signature, in its header or its URL.
func ScopeOf(r *http.Request, query url.Values) Scope {
	const mark = "Credential="
	header := r.Header.Get("Authorization")
	if key, ok := strings.CutPrefix(header, "AWS "); ok { // version 2
		key, _, _ = strings.Cut(key, ":")
		return Scope{Key: key, Service: "s3"}
	}
	text := query.Get("X-Amz-Credential")
	if i := strings.Index(header, mark); i >= 0 {
		text, _, _ = strings.Cut(header[i+len(mark):], ",")
	}
	parts := strings.Split(strings.TrimSpace(text), "/")
	switch {
	case len(parts) >= 5:
		n := len(parts)
		return Scope{Key: strings.Join(parts[:n-4], "/"), Region: parts[n-3], Service: parts[n-2]}
	case len(parts) == 4: // version 4A has no region
		return Scope{Key: parts[0], Service: parts[2]}
	case query.Has("AWSAccessKeyId") && query.Has("Signature") && query.Has("Expires"):
		return Scope{Key: query.Get("AWSAccessKeyId"), Service: "s3"}
	}
	return Scope{}
}

const (
	signatureTime = "20060102T150405Z"
	longestSigned = 7 * 24 * 60 * 60 // S3: seconds
	skew          = 15 * time.Minute // S3: how far a client's clock may be ahead
)

// checkSigned checks how long a presigned URL is good. It moves what the client signed into the URL instead of a
// header to the headers.
func checkSigned(r *http.Request, query url.Values, now time.Time) *Error {
	if query.Has("X-Amz-Algorithm") || query.Has("X-Amz-Signature") {
		moveHeaders(r, query)
		return checkExpires(query, now)
	}
	if query.Has("AWSAccessKeyId") || query.Has("Signature") {
		if !query.Has("AWSAccessKeyId") || !query.Has("Signature") || !query.Has("Expires") {
			return Refuse(403, "AccessDenied",
				"Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters")
		}
		moveHeaders(r, query)
		seconds, err := strconv.ParseInt(query.Get("Expires"), 10, 64)
		if err != nil {
			return Refuse(403, "AccessDenied", "Invalid date (should be seconds since epoch): "+query.Get("Expires"))
		}
		if at := time.Unix(seconds, 0); now.After(at) {
			return expired(at, now)
		}
	}
	return nil
}

func checkExpires(query url.Values, now time.Time) *Error {
	bad := func(text string) *Error { return Refuse(400, "AuthorizationQueryParametersError", text) }
	for _, name := range []string{
		"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires",
	} {
		if !query.Has(name) {
			return bad("Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, " +
				"X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.")
		}
	}
	if strings.Count(query.Get("X-Amz-Credential"), "/") < 3 {
		return bad("Error parsing the X-Amz-Credential parameter; the Credential is mal-formed; expecting " +
			`"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".`)
	}
	from, err := time.Parse(signatureTime, query.Get("X-Amz-Date"))
	if err != nil {
		return bad(`X-Amz-Date must be in the ISO8601 Long Format "yyyyMMdd'T'HHmmss'Z'"`)
	}
	seconds, err := strconv.ParseInt(query.Get("X-Amz-Expires"), 10, 64)
	switch {
	case err != nil:
		return bad("X-Amz-Expires should be a number")
	case seconds < 0:
		return bad("X-Amz-Expires must be non-negative")
	case seconds > longestSigned:
		return bad("X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less " +
			"than 604800 seconds")
	case from.After(now.Add(skew)):
		return Refuse(403, "AccessDenied", "Request is not valid yet")
	}
	if at := from.Add(time.Duration(seconds) * time.Second); now.After(at) {
		e := expired(at, now)
		e.Details = append([]Detail{{"X-Amz-Expires", query.Get("X-Amz-Expires")}}, e.Details...)
		return e
	}
	return nil
}

func expired(at, now time.Time) *Error {
	return Refuse(403, "AccessDenied", "Request has expired",
		"Expires", at.UTC().Format(time.RFC3339), "ServerTime", now.UTC().Format(time.RFC3339))
}

// ofSignature are the parameters of a presigned URL that are no headers.
var ofSignature = map[string]bool{
	"X-Amz-Algorithm": true, "X-Amz-Credential": true, "X-Amz-Date": true, "X-Amz-Expires": true,
	"X-Amz-Signedheaders": true, "X-Amz-Signature": true,
}

// moveHeaders copies the parameters of a presigned URL that are headers to those of the request, which keep their
// values. Version 2 has the x-amz-… headers in the URL, and so has version 4 what a client hoists. boto3 hoists
// conditions, too.
func moveHeaders(r *http.Request, query url.Values) {
	header := r.Header.Clone()
	for name, values := range query {
		name = canonical(name)
		hoisted := strings.HasPrefix(name, "X-Amz-") && !ofSignature[name]
		if hoisted || name == "If-Match" || name == "If-None-Match" {
			if strings.HasPrefix(name, metadataPrefix) {
				values = []string{encodeWord(strings.Join(values, ","))} // the URL is UTF-8, and a header is not
			}
			if len(header[name]) == 0 {
				header[name] = values
			}
		}
	}
	r.Header = header
}
