package conformance

import (
	"strings"
	"testing"
	"time"
)

// The cases of this file are what AWS answered from 2025-01 to 2026-02 (repository localstack/localstack,
// tests/aws/services/s3, test_s3_list_operations.snapshot.json).

// listed returns the keys and groups of a page, in the order of the answer.
func listed(r reply) string {
	var all []string
	for _, part := range strings.Split(r.body, "<Key>")[1:] {
		key, _, _ := strings.Cut(part, "<")
		all = append(all, key)
	}
	for _, part := range strings.Split(r.body, "<CommonPrefixes>")[1:] {
		group, _, _ := strings.Cut(strings.TrimPrefix(part, "<Prefix>"), "<")
		all = append(all, group)
	}
	return strings.Join(all, " ")
}

func TestRecordedS3Lists(t *testing.T) {
	tree := []string{"folder/aSubfolder/subFile1", "folder/aSubfolder/subFile2", "folder/file1", "folder/file2"}
	runBucket(t, "a marker in a common prefix does not give the prefix again", func(b *bucket) {
		for _, key := range tree {
			b.put(key, "content 123")
			b.start(key)
		}
		for _, list := range []string{
			"?marker=", "?list-type=2&start-after=", "?versions&key-marker=", "?uploads&key-marker=",
		} {
			for marker, want := range map[string]string{
				"folder/aSubfolder/subFile1": "folder/file1 folder/file2",
				"folder/aSubfolder/":         "folder/file1 folder/file2",
				"folder/file1":               "folder/file2",
				"folder/":                    "folder/file1 folder/file2 folder/aSubfolder/",
			} {
				got := b.call("GET", list+marker+"&prefix=folder/&delimiter=/", nil, "")
				if listed(got) != want {
					b.Errorf("%s%s: %s, want %s", list, marker, listed(got), want)
				}
			}
		}
	})
	runBucket(t, "a page of versions that ends with a group has no version marker", func(b *bucket) {
		for _, key := range tree {
			b.put(key, "content 123")
		}
		first := b.call("GET", "?versions&prefix=folder/&delimiter=/&max-keys=1", nil, "")
		if !first.has("<NextKeyMarker>folder/aSubfolder/<") || first.has("NextVersionIdMarker") {
			b.Errorf("a group: %s", first.body)
		}
		next := b.call("GET", "?versions&prefix=folder/&delimiter=/&max-keys=1&key-marker=folder/aSubfolder/", nil, "")
		if !next.has("<NextKeyMarker>folder/file1<") || !next.has("<NextVersionIdMarker>null<") {
			b.Errorf("a key: %s", next.body)
		}
		got := b.call("GET", "?versions&version-id-marker=null", nil, "")
		b.wants("no key marker", got, 400, "InvalidArgument")
		if !got.has("A version-id marker cannot be specified without a key marker.") {
			b.Errorf("no key marker: %s", got.body)
		}
	})
	runBucket(t, "uploads have next markers always, which are those of the last upload", func(b *bucket) {
		next := func(key, id string) string {
			return "<NextKeyMarker>" + key + "</NextKeyMarker><NextUploadIdMarker>" + id + "</NextUploadIdMarker>"
		}
		empty := b.call("GET", "?uploads", nil, "")
		if !empty.has(next("", "")) || empty.has("<Prefix>") {
			b.Errorf("without uploads: %s", empty.body)
		}
		c, second := b.start("test_c"), b.start("test_b")
		var first []string // in the order of their time, which is not that of the ids
		for range 3 {
			first = append(first, b.start("test_a"))
			b.pass(time.Second)
		}
		for query, want := range map[string][2]string{
			"":                                 {"test_c", c},
			"&max-uploads=1":                   {"test_a", first[0]},
			"&key-marker=test_a":               {"test_c", c},
			"&max-uploads=1&key-marker=test_a": {"test_b", second},
			"&key-marker=test_c":               {"", ""},
			"&max-uploads=1&upload-id-marker=" + first[1]:                      {"test_a", first[0]},
			"&max-uploads=1&key-marker=test_a&upload-id-marker=" + first[0]:    {"test_a", first[1]},
			"&max-uploads=1&key-marker=test_a&upload-id-marker=" + first[2]:    {"test_b", second},
			"&max-uploads=1000&key-marker=test_b&upload-id-marker=" + second:   {"test_c", c},
			"&max-uploads=1&key-marker=&upload-id-marker=&encoding-type=url":   {"test_a", first[0]},
			"&max-uploads=1&key-marker=test_b&upload-id-marker=&delimiter=%2F": {"test_c", c},
		} {
			got := b.call("GET", "?uploads"+query, nil, "")
			if !got.has(next(want[0], want[1])) {
				b.Errorf("%s: %s, want %s", query, got.body, want)
			}
		}
		got := b.call("GET", "?uploads&upload-id-marker="+second, nil, "")
		if !got.has("<UploadIdMarker></UploadIdMarker>") {
			b.Errorf("an id without a key: %s", got.body)
		}
		got = b.call("GET", "?uploads&key-marker=test_c&upload-id-marker="+second, nil, "")
		b.wants("the id of another key", got, 400, "InvalidArgument")
		if !got.has("<Message>Invalid uploadId marker</Message><ArgumentName>upload-id-marker</ArgumentName>") {
			b.Errorf("the id of another key: %s", got.body)
		}
	})
	runBucket(t, "a page of groups of uploads has empty next markers", func(b *bucket) {
		for _, key := range tree {
			b.start(key)
		}
		got := b.call("GET", "?uploads&prefix=folder/&delimiter=/&max-uploads=1", nil, "")
		if listed(got) != "folder/aSubfolder/" || !got.has("<IsTruncated>true<") ||
			!got.has("<NextKeyMarker></NextKeyMarker><NextUploadIdMarker></NextUploadIdMarker>") {
			b.Errorf("the group: %s", got.body)
		}
	})
	runBucket(t, "StartAfter is not shown beside a token", func(b *bucket) {
		for _, key := range []string{"date%3D1", "date%3D2", "date%3D3"} {
			b.put(key, "x")
		}
		first := b.call("GET", "?list-type=2&max-keys=1&start-after=date%3D1&encoding-type=url", nil, "")
		if !first.has("<StartAfter>date%3D1<") || listed(first) != "date%3D2" {
			b.Errorf("first page: %s", first.body)
		}
		token := first.element("NextContinuationToken").body
		next := b.call("GET", "?list-type=2&start-after=date%3D1&continuation-token="+token, nil, "")
		if next.has("StartAfter") || listed(next) != "date=3" {
			b.Errorf("second page: %s", next.body)
		}
		empty := b.call("GET", "?list-type=2&continuation-token=", nil, "")
		b.wants("an empty token", empty, 400, "InvalidArgument")
		if !empty.has("<ArgumentName>continuation-token<") || empty.has("ArgumentValue") {
			b.Errorf("an empty token: %s", empty.body)
		}
	})
	runBucket(t, "an empty encoding is refused, and the prefix is shown encoded", func(b *bucket) {
		for _, list := range []string{"?", "?list-type=2&", "?versions&", "?uploads&"} {
			for _, kind := range []string{"", "value"} {
				got := b.call("GET", list+"encoding-type="+kind, nil, "")
				b.wants(list+kind, got, 400, "InvalidArgument")
				if !got.has("<ArgumentValue>" + kind + "</ArgumentValue>") {
					b.Errorf("%s%q: %s", list, kind, got.body)
				}
			}
			got := b.call("GET", list+"encoding-type=url&prefix=a%3D/b", nil, "")
			if !got.has("<Prefix>a%3D/b</Prefix>") {
				b.Errorf("%s: %s", list, got.body)
			}
		}
	})
	runBucket(t, "empty numbers are ignored", func(b *bucket) {
		id := b.start("k")
		b.part("k", id, 1, "data")
		for _, query := range []string{"part-number-marker=", "max-parts="} {
			got := b.call("GET", "k?"+query+"&uploadId="+id, nil, "")
			if !got.has("<PartNumberMarker>0<") || !got.has("<MaxParts>1000<") || !got.has("<PartNumber>1<") {
				b.Errorf("%s: %d %s", query, got.status, got.body)
			}
		}
		none := b.call("GET", "k?max-parts=1&part-number-marker=10&uploadId="+id, nil, "")
		if !none.has("<NextPartNumberMarker>0<") || !none.has("<PartNumberMarker>10<") || none.has("<Part>") {
			b.Errorf("behind the last part: %s", none.body)
		}
	})
	runBucket(t, "buckets are listed by a region that there is", func(b *bucket) {
		got := b.call("GET", "/?bucket-region=eu-east-1", nil, "")
		b.wants("no region", got, 400, "InvalidArgument")
		if !got.has("Argument value eu-east-1 is not a valid AWS Region") || got.has("ArgumentValue") {
			b.Errorf("no region: %s", got.body)
		}
		if got := b.call("GET", "/?bucket-region=eu-central-1", nil, ""); got.status != 200 || got.has(b.name) {
			b.Errorf("another region: %d %s", got.status, got.body)
		}
	})
}
