package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
)

// An object is copied into the folder of a channel, whole or in parts, and encrypted as the store's own ones. The old
// one stays.
func TestCopy(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("theirs")
		s := w.ready(s3store.Options{
			Prefix: "big/", Encryption: "arn:aws:kms:us-east-1:000000000000:key/1",
			Sources: []s3store.Source{{Bucket: "theirs", Owner: "000000000000"}},
		})
		odd := w.foreign("theirs", "a b/ü+%20=&?.bin")
		for _, limit := range []int64{5 << 20, 32 << 20} { // one object is copied in parts with the first
			s.CopyInParts(limit)
			for name, c := range map[string]struct {
				at   driver.Location
				body []byte
			}{
				"small": {w.put(s, []byte("x")), []byte("x")}, "empty": {w.put(s, nil), nil},
				"large": {w.put(s, large()), large()}, "foreign": {odd, []byte("theirs")},
			} {
				copied, err := s.Copy(w.Context(), c.at, "queues/payments")
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if copied.Bucket != bucket || !strings.HasPrefix(copied.Key, "big/queues/payments/") {
					t.Errorf("%s was copied to %v", name, copied)
				}
				for _, at := range []driver.Location{c.at, copied} {
					if got, err := w.read(s, at); err != nil || !bytes.Equal(got, c.body) {
						t.Errorf("%s at %v: read %d of %d bytes, %v", name, at, len(got), len(c.body), err)
					}
				}
				want := []string{"aws:kms", "arn:aws:kms:us-east-1:000000000000:key/1"}
				if diff := cmp.Diff(want, w.head(copied)); diff != "" {
					t.Errorf("%s: encryption (-want +got):\n%s", name, diff)
				}
			}
		}
		if n := w.server.Calls()["s3.UploadPartCopy"]; n != 4 { // 17 MiB in parts of 5 MiB
			t.Errorf("%d parts were copied", n)
		}
		if n := w.uploads(); n != 0 {
			t.Errorf("%d uploads are left", n)
		}
	})
}

// S3 decodes the name of a source as it decodes a query, where '+' is a space.
func TestCopySource(t *testing.T) {
	got := *s3store.CopySource(driver.Location{Bucket: "theirs", Key: "a b/c+d?e%20=&ü"})
	if want := "theirs/a%20b/c%2Bd%3Fe%2520=&%C3%BC"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A copy is repeated like an upload, makes no second object when its answer was lost, and leaves nothing when it fails.
func TestCopyWithFaults(t *testing.T) {
	for action, body := range map[string][]byte{
		"s3.HeadObject": []byte("x"), "s3.CopyObject": []byte("x"), "s3.UploadPartCopy": large(),
		"s3.CompleteMultipartUpload": large(),
	} {
		t.Run(action, func(t *testing.T) {
			inWorld(t, func(w *world) {
				s := w.ready(s3store.Options{})
				s.CopyInParts(5 << 20)
				at := w.put(s, body)
				w.server.ControlOnce(action, func(context.Context, *localaws.Request) localaws.Outcome {
					return localaws.Outcome{DropAfter: true}
				})
				copied, err := s.Copy(w.Context(), at, "")
				if err != nil {
					t.Fatal(err)
				}
				if got, err := w.read(s, copied); err != nil || !bytes.Equal(got, body) {
					t.Errorf("read %d of %d bytes, %v", len(got), len(body), err)
				}
				if objects, _ := w.server.S3().Bucket(bucket).Count(); objects != 2 {
					t.Errorf("there are %d objects", objects)
				}
				w.down(action, 15*time.Second)
				if _, err := s.Copy(w.Context(), at, ""); err != nil {
					t.Errorf("after an outage of 15 s: %v", err)
				}
				w.down(action, time.Hour)
				if _, err := s.Copy(w.Context(), at, ""); err == nil || driver.ClassOf(err) != driver.Transient {
					t.Errorf("during an outage: %v", err)
				}
				if n := w.uploads(); n != 0 {
					t.Errorf("%d uploads are left", n)
				}
			})
		})
	}
}

// The error of a copy says what can be done, and does not name the place, which a message has named.
func TestCopyErrors(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("private")
		s := w.ready(s3store.Options{Prefix: "big/"})
		for at, class := range map[driver.Location]driver.Class{
			{Bucket: bucket, Key: "big/none"}:     driver.NotFound,
			{Bucket: bucket, Key: "other/secret"}: driver.Permanent,
			w.foreign("private", "big/secret"):    driver.Permanent,
		} {
			_, err := s.Copy(w.Context(), at, "")
			if err == nil || driver.ClassOf(err) != class || strings.Contains(err.Error(), at.Key) {
				t.Errorf("%v: %v", at, err)
			}
			_, err = s.Written(w.Context(), at)
			var fault *driver.PayloadError
			foreign := errors.As(err, &fault) && fault.Fault == driver.PayloadForeign
			if err == nil || driver.ClassOf(err) != class || foreign != (class == driver.Permanent) {
				t.Errorf("the age of %v: %v", at, err)
			}
		}
		at := w.put(s, []byte("x"))
		if _, err := s.Copy(w.Context(), at, "a b"); err == nil {
			t.Error("a folder with a space was accepted")
		}
		w.refuse("s3.CopyObject")
		_, err := s.Copy(w.Context(), at, "")
		for _, part := range []string{"s3:GetObject", "s3:PutObject", "kms:Decrypt"} {
			if driver.ClassOf(err) != driver.Denied || err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("refused: %v, want %s in it", err, part)
			}
		}
	})
}

// The key of an object of the store says when it was written. S3 says it of others, and of those whose writer had a
// clock that was wrong.
func TestWritten(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("theirs")
		s := w.ready(s3store.Options{Prefix: "big/", Sources: []s3store.Source{{Bucket: "theirs"}}})
		const id = "00890a5d-ac96-774b-bcce-b302099a8057" // of 1988
		wrote := time.Now()
		at := w.put(s, []byte("x"))
		others := []driver.Location{
			w.foreign("theirs", id), w.foreign(bucket, "big/plain"), w.foreign(bucket, "big/"+strings.ToUpper(id)),
			w.foreign(bucket, "big/"+strings.Replace(id, "-7", "-4", 1)),
			w.foreign(bucket, "big/f"+id[1:]), // of a far future
		}
		time.Sleep(time.Hour)
		calls := w.calls(func() {
			if got, err := s.Written(w.Context(), at); err != nil || got.Sub(wrote).Abs() > time.Millisecond {
				t.Errorf("written at %v, want %v: %v", got, wrote, err)
			}
		})
		if calls != 0 {
			t.Errorf("%d calls were made for a key of the store", calls)
		}
		old := time.UnixMilli(0x00890a5dac96)
		if got, err := s.Written(w.Context(), driver.Location{Bucket: bucket, Key: "big/" + id}); err != nil ||
			!got.Equal(old) {
			t.Errorf("written at %v, want %v: %v", got, old, err)
		}
		for _, at := range others {
			if got, err := s.Written(w.Context(), at); err != nil || got.Sub(wrote).Abs() > time.Second {
				t.Errorf("%v was written at %v, want %v: %v", at, got, wrote, err)
			}
		}
	})
}
