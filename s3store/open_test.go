package s3store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
)

// head returns the encryption and the key of an object.
func (w *world) head(at driver.Location) []string {
	w.Helper()
	out, err := w.s3.HeadObject(w.Context(), &s3.HeadObjectInput{Bucket: &at.Bucket, Key: &at.Key})
	if err != nil {
		w.Fatal(err)
	}
	key := ""
	if out.SSEKMSKeyId != nil {
		key = *out.SSEKMSKeyId
	}
	return []string{string(out.ServerSideEncryption), key}
}

// foreign makes an object of another program.
func (w *world) foreign(bucket, key string) driver.Location {
	w.Helper()
	if _, err := w.s3.PutObject(w.Context(),
		&s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("theirs")}); err != nil {
		w.Fatal(err)
	}
	return driver.Location{Bucket: bucket, Key: key}
}

// Objects are read from the store's bucket and prefix and from the listed sources, and from nowhere else.
func TestOpenOnlyWhatIsListed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("theirs")
		w.create("private")
		s := w.ready(s3store.Options{
			Prefix: "big/", Sources: []s3store.Source{{Bucket: "theirs", Prefix: "out/", Owner: "000000000000"}},
		})
		for at, allowed := range map[driver.Location]bool{
			w.foreign(bucket, "big/x"):                    true,
			w.foreign(bucket, "other/x"):                  false,
			w.foreign("theirs", "out/x"):                  true,
			w.foreign("theirs", "in/x"):                   false,
			w.foreign("private", "big/x"):                 false,
			{Bucket: "theirs", Key: "out/../in/x"}:        false,
			{Bucket: bucket, Key: "big/./x"}:              false,
			{Bucket: "arn:aws:s3:::theirs", Key: "out/x"}: false,
		} {
			n := 0
			var got []byte
			var err error
			n = w.calls(func() { got, err = w.read(s, at) })
			if allowed && (err != nil || string(got) != "theirs") {
				t.Errorf("%v: %q, %v", at, got, err)
			}
			var fault *driver.PayloadError
			if !allowed && (!errors.As(err, &fault) || fault.Fault != driver.PayloadForeign || n != 0 ||
				strings.Contains(err.Error(), at.Key)) {
				t.Errorf("%v: %q, %v, with %d calls", at, got, err, n)
			}
		}
	})
}

// A bucket whose owner is not the listed one is refused.
func TestOpenOfAnotherOwner(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("theirs")
		s := w.open(s3store.Options{Sources: []s3store.Source{{Bucket: "theirs", Owner: "111111111111"}}})
		if _, err := w.read(s, w.foreign("theirs", "x")); driver.ClassOf(err) != driver.Denied || err == nil {
			t.Errorf("%v", err)
		}
	})
}

func TestOpenErrors(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		at := w.put(s, []byte("x"))
		if _, err := w.read(s, driver.Location{Bucket: bucket, Key: "none"}); driver.ClassOf(err) != driver.NotFound {
			t.Errorf("no object: %v", err)
		}
		nowhere := w.open(s3store.Options{Sources: []s3store.Source{{Bucket: "none"}}})
		_, err := w.read(nowhere, driver.Location{Bucket: "none", Key: "k"})
		if driver.ClassOf(err) != driver.Transient {
			t.Errorf("no bucket: %v", err)
		}
		once := func(o localaws.Outcome) {
			w.server.ControlOnce("s3.GetObject", func(context.Context, *localaws.Request) localaws.Outcome { return o })
		}
		once(localaws.Outcome{Drop: true})
		if _, err := w.read(s, at); driver.ClassOf(err) != driver.Transient || err == nil {
			t.Errorf("no answer: %v", err)
		}
		once(localaws.Outcome{Delay: time.Hour})
		began := time.Now()
		if _, err := w.read(s, at); driver.ClassOf(err) != driver.Transient || err == nil ||
			time.Since(began) > 11*time.Second {
			t.Errorf("an answer that is late: %v after %v", err, time.Since(began))
		}
		w.refuse("s3.GetObject")
		_, err = w.read(s, at)
		for _, part := range []string{"s3:GetObject", "kms:Decrypt", "s3:ListBucket"} {
			if driver.ClassOf(err) != driver.Denied || err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("refused: %v, want %s in it", err, part)
			}
		}
	})
}
