package claim_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/claim"
)

func TestCopy(t *testing.T) {
	p := claim.Pointer{At: driver.Location{Bucket: "b", Key: "old"}, Size: 9, SHA256: "ab", Zstd: true, Stored: 3}
	moved := p
	moved.At.Key = "new"
	young := &copier{aged: &aged{life: day}}
	if got, err := claim.Copy(t.Context(), young, "f", p); got != moved || err != nil || young.copied != "old to f" {
		t.Errorf("the copy of a young object is %+v, %v; copied %s", got, err, young.copied)
	}
	plain := &aged{objects: objects{body: bytes.NewReader([]byte("zip")), size: 3}}
	if got, err := claim.Copy(t.Context(), plain, "f", p); got != moved || err != nil || string(plain.wrote) != "zip" {
		t.Errorf("the copy of a store that cannot copy is %+v, %v; wrote %q", got, err, plain.wrote)
	}
	gone := &copier{aged: &aged{objects: objects{err: &driver.Error{Class: driver.NotFound, Err: driver.ErrClosed}}}}
	if _, err := claim.Copy(t.Context(), gone, "f", p); driver.ClassOf(err) != driver.Permanent {
		t.Errorf("the copy of an object that is gone: %v", err)
	}
}

// Another place changes nothing else of a pointer, whoever wrote it.
func TestMoved(t *testing.T) {
	to := driver.Location{Bucket: "b2", Key: "new/\"k"}
	for _, f := range []claim.Format{claim.Current, claim.Mixed, claim.Legacy} {
		p := claim.Pointer{At: driver.Location{Bucket: "b", Key: "k"}, Size: 9, SHA256: "ab", Zstd: true, Stored: 3}
		want := p
		want.At = to
		text, err := claim.Moved(p.Text(f), to)
		if err != nil {
			t.Fatal(err)
		}
		got, err := claim.Parse(text, map[string]string{f.Attribute(): "9"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil || !got.Ours() {
			t.Errorf("%v, moved %s (-want +got):\n%s", err, text, diff)
		}
	}
	const theirs = `["x.Y", {"s3BucketName":"b","s3Key":"k","more":{"a": 1}}]`
	text, err := claim.Moved(theirs, driver.Location{Bucket: "B", Key: "K"})
	if want := `["x.Y",{"more":{"a":1},"s3BucketName":"B","s3Key":"K"}]`; text != want || err != nil {
		t.Errorf("moved %s, %v; want %s", text, err, want)
	}
	for _, text := range []string{"", "[]", `["x"]`, `["x",null]`, `["x",7]`, `{}`} {
		if got, err := claim.Moved(text, to); err == nil {
			t.Errorf("%s was moved to %s", text, got)
		}
	}
}
