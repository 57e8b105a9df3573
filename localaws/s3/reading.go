package s3

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// ReadInput is what GetObject and HeadObject have in common.
type ReadInput struct {
	Bucket                     string `rest:"bucket"`
	Key                        string `rest:"key"`
	ChecksumMode               string `rest:"header,x-amz-checksum-mode"`
	IfMatch                    string `rest:"header,If-Match"`
	IfModifiedSince            string `rest:"header,If-Modified-Since"`
	IfNoneMatch                string `rest:"header,If-None-Match"`
	IfUnmodifiedSince          string `rest:"header,If-Unmodified-Since"`
	PartNumber                 *int   `rest:"query,partNumber"`
	Range                      string `rest:"header,Range"`
	ResponseCacheControl       string `rest:"query,response-cache-control"`
	ResponseContentDisposition string `rest:"query,response-content-disposition"`
	ResponseContentEncoding    string `rest:"query,response-content-encoding"`
	ResponseContentLanguage    string `rest:"query,response-content-language"`
	ResponseContentType        string `rest:"query,response-content-type"`
	ResponseExpires            string `rest:"query,response-expires"`
	CustomerKey
	VersionID string `rest:"query,versionId"`
}

// view is the part of an object that a read wants.
type view struct {
	offset, length int64
	shown          Shown
}

// look checks a read of an object and describes what it wants.
func look(c call, b *bucket.Bucket, o *bucket.Object, in *ReadInput) (view, error) {
	conditions := ReadConditions{
		match: in.IfMatch, noneMatch: in.IfNoneMatch, modifiedSince: in.IfModifiedSince,
		unmodifiedSince: in.IfUnmodifiedSince,
	}
	if err := conditions.check(o, c.at.now()); err != nil {
		return view{}, err
	}
	if err := in.opens(o); err != nil {
		return view{}, err
	}
	v := view{length: o.Size(), shown: shown(b.Settings(), o)}
	sum := o.Checksum
	var err error
	switch {
	case in.PartNumber != nil && in.Range != "":
		return v, invalidRequest("Cannot specify both Range header and partNumber query parameter")
	case in.PartNumber != nil:
		sum, err = v.part(o, *in.PartNumber)
	case in.Range != "":
		var part bool
		if part, err = v.byRange(o.Size(), in.Range); part && v.length < o.Size() {
			sum = bucket.Checksum{} // the checksum is of the whole object
		}
	}
	if err != nil {
		return v, err
	}
	if in.ChecksumMode == "ENABLED" {
		v.shown.ShownChecksum = shownChecksum(sum)
	}
	return v, in.override(c, &v.shown)
}

// override replaces headers by those that a signed URL asks for.
func (in *ReadInput) override(c call, sh *Shown) error {
	used := false
	for _, o := range []struct {
		name, text string
		to         *string
	}{
		{"response-cache-control", in.ResponseCacheControl, &sh.CacheControl},
		{"response-content-disposition", in.ResponseContentDisposition, &sh.ContentDisposition},
		{"response-content-encoding", in.ResponseContentEncoding, &sh.ContentEncoding},
		{"response-content-language", in.ResponseContentLanguage, &sh.ContentLanguage},
		{"response-content-type", in.ResponseContentType, &sh.ContentType},
		{"response-expires", in.ResponseExpires, &sh.Expires},
	} {
		if o.text == "" {
			continue
		}
		header, ok := latin1(o.text)
		if !ok {
			return rest.InvalidArgument("Header value cannot be represented using ISO-8859-1.", o.name, o.text)
		}
		*o.to, used = header, true
	}
	if used && c.Caller == "" {
		return invalidRequest("Request specific response headers cannot be used for anonymous GET requests.")
	}
	return nil
}

// latin1 returns a text in ISO-8859-1; false: a character has no place in it.
func latin1(text string) (string, bool) {
	b := make([]byte, 0, len(text))
	for _, c := range text {
		if c > unicode.MaxLatin1 {
			return "", false
		}
		b = append(b, byte(c))
	}
	return string(b), true
}

// part selects a part of a multipart upload. An object that was put as a whole is one part.
func (v *view) part(o *bucket.Object, number int) (bucket.Checksum, error) {
	if number < 1 || number > maxParts {
		return bucket.Checksum{}, badPartNumber(number)
	}
	if len(o.Parts) == 0 && number == 1 {
		v.partial(o.Size())
		return o.Checksum, nil
	}
	if number > len(o.Parts) {
		return bucket.Checksum{}, rest.Refuse(416, "InvalidPartNumber", "The requested partnumber is not satisfiable",
			"PartNumberRequested", itoa(number), "ActualPartCount", itoa(max(1, len(o.Parts))))
	}
	for _, p := range o.Parts[:number-1] {
		v.offset += p.Size
	}
	v.length = o.Parts[number-1].Size
	v.partial(o.Size())
	count := len(o.Parts)
	v.shown.PartsCount = &count
	switch {
	case o.Checksum.Type == fullObject && count == 1:
		return o.Checksum, nil
	case o.Checksum.Type == fullObject: // S3 tells those of parts only if that of the object is made of them
		return bucket.Checksum{}, nil
	}
	sum := o.Parts[number-1].Checksum
	sum.Type = o.Checksum.Type
	return sum, nil
}

// byRange selects a range of bytes. A range that is not understood is ignored, as HTTP has it; so is a list of ranges,
// which S3 does not support.
func (v *view) byRange(size int64, text string) (part bool, err error) {
	first, last, ok := parseRange(text)
	if !ok {
		return false, nil
	}
	switch {
	case first < 0 && last > 0 && size > 0: // the last bytes
		v.offset = max(0, size-last)
		v.length = size - v.offset
	case first >= 0 && first < size:
		if last < 0 || last >= size {
			last = size - 1
		}
		v.offset, v.length = first, last-first+1
	default:
		e := rest.Refuse(416, "InvalidRange", "The requested range is not satisfiable", "RangeRequested", text,
			"ActualObjectSize", strconv.FormatInt(size, 10))
		e.Header = map[string]string{"Content-Range": fmt.Sprintf("bytes */%d", size)}
		return false, e
	}
	v.partial(size)
	return true, nil
}

func (v *view) partial(size int64) {
	v.shown.Status = 206
	if size > 0 {
		v.shown.ContentRange = fmt.Sprintf("bytes %d-%d/%d", v.offset, v.offset+v.length-1, size)
	}
}

// parseRange reads bytes=first-last. A negative first stands for the last bytes, a negative last for the end.
func parseRange(text string) (first, last int64, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(text), "bytes=")
	from, to, dash := strings.Cut(text, "-")
	if !ok || !dash || strings.Contains(text, ",") {
		return 0, 0, false
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil || n < 0 {
			ok = ok && text == ""
			return -1
		}
		return n
	}
	first, last = number(from), number(to)
	if !ok || first < 0 && last < 0 || first >= 0 && last >= 0 && last < first {
		return 0, 0, false
	}
	return first, last, true
}

// GetObjectInput is the input of GetObject.
type GetObjectInput struct {
	ReadInput
}

// GetObjectOutput is the output of GetObject.
type GetObjectOutput struct {
	Shown
	Body *rest.Stream `rest:"body"`
}

// getObject answers 404 for a missing key; AWS answers 403 if the caller may not list the bucket. The classes GLACIER
// and DEEP_ARCHIVE are InvalidObjectState until they are restored (AWS's API reference, GetObject).
func getObject(c call, b *bucket.Bucket, in *GetObjectInput) (*GetObjectOutput, error) {
	if err := checkVersion(in.VersionID); err != nil {
		return nil, err
	}
	o := b.Open(in.Key)
	if o == nil {
		return nil, noSuchKey(in.Key)
	}
	defer o.Content.Release()
	v, err := look(c, b, o, &in.ReadInput)
	if err != nil {
		return nil, err
	}
	if o.StorageClass == "GLACIER" || o.StorageClass == "DEEP_ARCHIVE" {
		return nil, rest.Refuse(403, "InvalidObjectState", "The operation is not valid for the object's storage class",
			"StorageClass", o.StorageClass)
	}
	return &GetObjectOutput{
		Shown: v.shown, Body: &rest.Stream{Size: v.length, Body: o.Content.Range(v.offset, v.length).Reader()},
	}, nil
}

// HeadObjectInput is the input of HeadObject.
type HeadObjectInput struct {
	ReadInput
}

// HeadObjectOutput is the output of HeadObject.
type HeadObjectOutput struct {
	Shown
	ContentLength int64 `rest:"header,Content-Length"`
}

// headObject has no body, so that an error is only a status, and a missing key is 404; on AWS 403 if the caller may not
// list the bucket (AWS's API reference, HeadObject).
func headObject(c call, b *bucket.Bucket, in *HeadObjectInput) (*HeadObjectOutput, error) {
	o, err := object(b, in.Key, in.VersionID)
	if err != nil {
		return nil, err
	}
	v, err := look(c, b, o, &in.ReadInput)
	if err != nil {
		return nil, err
	}
	return &HeadObjectOutput{Shown: v.shown, ContentLength: v.length}, nil
}
