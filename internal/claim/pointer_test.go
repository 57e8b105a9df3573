package claim_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

const (
	newClass = "software.amazon.payloadoffloading.PayloadS3Pointer"
	oldClass = "com.amazon.sqs.javamessaging.MessageS3Pointer"
)

// Every class is read with every attribute, spaced or compact, with fields of other programs.
func TestEveryCombinationIsRead(t *testing.T) {
	for _, class := range []string{newClass, oldClass} {
		for name, text := range map[string]string{
			"compact": `["` + class + `",{"s3BucketName":"b","s3Key":"k"}]`,
			"spaced":  `["` + class + `", {"s3BucketName": "b", "s3Key": "k"}]`,
			"more":    ` ["` + class + `",{"s3Key":"k","owner":{"id":1},"s3BucketName":"b"}] `,
		} {
			for _, attributes := range []map[string]string{
				{"ExtendedPayloadSize": "7"},
				{"SQSLargePayloadSize": "7"},
				{"ExtendedPayloadSize": "7", "SQSLargePayloadSize": "7", "other": "x"},
			} {
				p, err := claim.Parse(text, attributes)
				want := claim.Pointer{At: driver.Location{Bucket: "b", Key: "k"}, Size: 7}
				if err != nil || p != want {
					t.Errorf("%s, %s, %v: %+v, %v", class, name, attributes, p, err)
				}
			}
		}
	}
}

// A pointer of each format has its class and attribute, and what is read is what was written.
func TestWrittenPointers(t *testing.T) {
	p := claim.Pointer{At: driver.Location{Bucket: "b", Key: `k"é`}, Size: 300_000, SHA256: "ab"}
	for f, want := range map[claim.Format][2]string{
		claim.Current: {newClass, "ExtendedPayloadSize"},
		claim.Mixed:   {newClass, "SQSLargePayloadSize"},
		claim.Legacy:  {oldClass, "SQSLargePayloadSize"},
	} {
		text := p.Text(f)
		if !strings.HasPrefix(text, `["`+want[0]+`",{"s3BucketName":"b","s3Key":`) || f.Attribute() != want[1] {
			t.Errorf("format %d is %s with attribute %s", f, text, f.Attribute())
		}
		if got, err := claim.Parse(text, map[string]string{f.Attribute(): "300000"}); err != nil || got != p {
			t.Errorf("format %d is read as %+v, %v", f, got, err)
		}
	}
}

func TestAnnounced(t *testing.T) {
	for name, want := range map[string]bool{"ExtendedPayloadSize": true, "SQSLargePayloadSize": true, "size": false} {
		if got := claim.Announced(map[string]string{name: "1"}); got != want {
			t.Errorf("attribute %s announces a pointer: %v", name, got)
		}
	}
}

// What is no pointer is an error that says why, and repeats nothing of the message.
func TestBadPointers(t *testing.T) {
	good := `["` + newClass + `",{"s3BucketName":"b","s3Key":"k"}]`
	one := map[string]string{"ExtendedPayloadSize": "7"}
	for _, c := range []struct {
		name, text string
		attributes map[string]string
		want       string
	}{
		{"text", "secret", one, "not a list"},
		{"empty", "", one, "not a list"},
		{"object", `{"s3BucketName":"secret"}`, one, "not a list"},
		{"three", `["` + newClass + `",{"s3BucketName":"b","s3Key":"k"},1]`, one, "not a list"},
		{"garbage behind", good + "x", one, "not a list"},
		{"class", `["secret.Pointer",{"s3BucketName":"b","s3Key":"k"}]`, one, "its class is neither"},
		{"number", `["` + newClass + `",7]`, one, "second element"},
		{"types", `["` + newClass + `",{"s3BucketName":1,"s3Key":"k"}]`, one, "second element"},
		{"no key", `["` + newClass + `",{"s3BucketName":"secret"}]`, one, "no s3Key"},
		{"no size", good, map[string]string{"ExtendedPayloadSize": "secret"}, "not a number"},
		{"negative", good, map[string]string{"SQSLargePayloadSize": "-1"}, "not a number"},
		{
			"two sizes", good,
			map[string]string{"ExtendedPayloadSize": "7", "SQSLargePayloadSize": "8"},
			"announces 7 bytes",
		},
		{"not announced", good, nil, "no attribute"},
		{
			"version", `["` + newClass + `",{"s3BucketName":"b","s3Key":"k","godwit":{"v":2,"size":7}}]`, one,
			"update the consumer",
		},
		{
			"another size", `["` + newClass + `",{"s3BucketName":"b","s3Key":"k","godwit":{"v":1,"size":8}}]`, one,
			"and the pointer 8",
		},
	} {
		_, err := claim.Parse(c.text, c.attributes)
		var fault *driver.PayloadError
		if !errors.As(err, &fault) || fault.Fault != driver.PayloadPointer || driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A pointer that is read can be written and is read again as the same.
func FuzzParse(f *testing.F) {
	f.Add(`["`+newClass+`",{"s3BucketName":"b","s3Key":"k"}]`, "7", "")
	f.Add(`["`+oldClass+`",{"s3BucketName":"b","s3Key":"k","godwit":{"v":1,"size":7,"sha256":"x"}}]`, "7", "7")
	f.Add(`[]`, "", "x")
	f.Add(`[null,null]`, "0", "0")
	f.Fuzz(func(t *testing.T, text, size, old string) {
		p, err := claim.Parse(text, map[string]string{"ExtendedPayloadSize": size, "SQSLargePayloadSize": old})
		if err != nil {
			return
		}
		for _, format := range []claim.Format{claim.Current, claim.Mixed, claim.Legacy} {
			out := p.Text(format)
			if !json.Valid([]byte(out)) {
				t.Fatalf("%q is no JSON", out)
			}
			if again, err := claim.Parse(out, map[string]string{format.Attribute(): size}); err != nil || again != p {
				t.Errorf("%+v was written as %s and read as %+v, %v", p, out, again, err)
			}
		}
	})
}

// The place of a pointer is found also if the pointer is of a kind that cannot be read.
func TestLocate(t *testing.T) {
	want := driver.Location{Bucket: "b", Key: "k"}
	for text, found := range map[string]bool{
		`["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":"k"}]`: true,
		`[ "later", {"s3Key":"k","x":1,"s3BucketName":"b","godwit":{"v":99}}, 3 ]`:                true,
		`[1,{"s3BucketName":"b","s3Key":"k"}]`:                                                    true,
		`[1,{"s3BucketName":"b"}]`:                                                                false,
		`[{"s3BucketName":"b","s3Key":"k"}]`:                                                      false,
		`{"s3BucketName":"b","s3Key":"k"}`:                                                        false,
		`[1,"s3Key"]`:                                                                             false,
		``:                                                                                        false,
	} {
		if at, ok := claim.Locate([]byte(text)); ok != found || ok && at != want {
			t.Errorf("%s: %v, %v", text, at, ok)
		}
	}
}
