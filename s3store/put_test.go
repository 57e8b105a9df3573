package s3store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
)

// large is a body that is uploaded in three parts.
func large() []byte { return bytes.Repeat([]byte("0123456789abcdef"), 17<<20/16) }

// Bodies of every size come back as they were, from memory and from a Reader.
func TestPut(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{Prefix: "big/"})
		key := regexp.MustCompile(
			`^big/queues/orders/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		for name, body := range map[string][]byte{
			"empty": {}, "binary": {0, 0xff, 0xfe}, "large": large(), "part": large()[:8<<20],
			"parts": large()[:16<<20],
		} {
			for kind, from := range map[string]io.Reader{
				"memory": bytes.NewReader(body), "reader": iotest.HalfReader(bytes.NewReader(body)),
				"unknown size": iotest.HalfReader(bytes.NewReader(body)),
			} {
				size := int64(len(body))
				if kind == "unknown size" {
					size = -1
				}
				at, err := s.Put(w.Context(), "queues/orders", from, size)
				if err != nil {
					t.Fatalf("%s from %s: %v", name, kind, err)
				}
				if at.Bucket != bucket || !key.MatchString(at.Key) {
					t.Errorf("%s from %s is at %v", name, kind, at)
				}
				if got, err := w.read(s, at); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%s from %s: read %d of %d bytes, %v", name, kind, len(got), len(body), err)
				}
			}
		}
	})
}

// hashed is a body whose SHA-256 is known.
type hashed struct {
	*bytes.Reader
	sum string
}

func (h hashed) InMemory() *bytes.Reader { return h.Reader }
func (h hashed) SHA256() string          { return h.sum }

// A known hash signs the request without TLS, and is not computed again: the service compares it with the body. With
// TLS, the SDK signs no body.
func TestPutOfAKnownHash(t *testing.T) {
	inWorld(t, func(w *world) {
		body := []byte("a body")
		sum := sha256.Sum256(body)
		right, wrong := hex.EncodeToString(sum[:]), strings.Repeat("0", 64)
		for endpoint, refused := range map[string]bool{"http://localaws.internal": true, "https://localaws.internal": false} {
			w.conf.BaseEndpoint = &endpoint
			s := w.ready(s3store.Options{})
			at, err := s.Put(w.Context(), "", hashed{bytes.NewReader(body), right}, int64(len(body)))
			if err != nil {
				t.Fatalf("%s: %v", endpoint, err)
			}
			if got, err := w.read(s, at); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%s: read %q, %v", endpoint, got, err)
			}
			_, err = s.Put(w.Context(), "", hashed{bytes.NewReader(body), wrong}, int64(len(body)))
			if is := err != nil && strings.Contains(err.Error(), "XAmzContentSHA256Mismatch"); is != refused {
				t.Errorf("%s: a wrong hash: %v", endpoint, err)
			}
		}
	})
}

// A Reader that has more or fewer bytes than announced is an error, and leaves nothing.
func TestPutOfAnotherSize(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		for _, n := range []int64{100, 20 << 20} {
			for _, off := range []int64{-1, 1} {
				for kind, from := range map[string]io.Reader{
					"memory": bytes.NewReader(make([]byte, n+off)), "reader": io.LimitReader(zeros{}, n+off),
				} {
					_, err := s.Put(w.Context(), "", from, n)
					if err == nil || driver.ClassOf(err) != driver.Permanent ||
						!strings.Contains(err.Error(), "set Size") {
						t.Errorf("%d bytes from %s for %d: %v", n+off, kind, n, err)
					}
				}
			}
		}
		if objects, _ := w.server.S3().Bucket(bucket).Count(); objects != 0 || w.uploads() != 0 {
			t.Errorf("there are %d objects and %d uploads", objects, w.uploads())
		}
		if _, err := s.Put(w.Context(), "", iotest.ErrReader(errors.New("disk")), 5); err == nil ||
			!strings.Contains(err.Error(), "disk") || driver.ClassOf(err) != driver.Permanent {
			t.Errorf("a Reader that fails: %v", err)
		}
	})
}

// A write whose answer was lost is repeated, and makes no second object.
func TestPutAfterALostAnswer(t *testing.T) {
	for action, body := range map[string][]byte{
		"s3.PutObject": []byte("x"), "s3.UploadPart": large(), "s3.CompleteMultipartUpload": large(),
	} {
		t.Run(action, func(t *testing.T) {
			inWorld(t, func(w *world) {
				s := w.ready(s3store.Options{})
				w.server.ControlOnce(action, func(context.Context, *localaws.Request) localaws.Outcome {
					return localaws.Outcome{DropAfter: true}
				})
				at := w.put(s, body)
				if got, err := w.read(s, at); err != nil || !bytes.Equal(got, body) {
					t.Errorf("read %d of %d bytes, %v", len(got), len(body), err)
				}
				if objects, _ := w.server.S3().Bucket(bucket).Count(); objects != 1 {
					t.Errorf("there are %d objects", objects)
				}
			})
		})
	}
}

// Each request is repeated for 20 s.
func TestPutDuringAnOutage(t *testing.T) {
	for action, body := range map[string][]byte{"s3.PutObject": []byte("x"), "s3.UploadPart": large()} {
		t.Run(action, func(t *testing.T) {
			inWorld(t, func(w *world) {
				s := w.ready(s3store.Options{})
				w.down(action, 15*time.Second)
				w.put(s, body)
				w.down(action, time.Hour)
				began := time.Now()
				_, err := s.Put(w.Context(), "", bytes.NewReader(body), int64(len(body)))
				if took := time.Since(began); driver.ClassOf(err) != driver.Transient || err == nil ||
					took < 15*time.Second || took > 26*time.Second {
					t.Errorf("%v after %v", err, took)
				}
				if n := w.uploads(); n != 0 {
					t.Errorf("%d uploads are left", n)
				}
			})
		})
	}
}

// A caller who gives up leaves no upload open.
func TestPutThatIsCanceled(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		ctx, cancel := context.WithCancel(w.Context())
		w.server.ControlOnce("s3.UploadPart", func(ctx context.Context, _ *localaws.Request) localaws.Outcome {
			cancel()
			<-ctx.Done()
			return localaws.Outcome{}
		})
		if _, err := s.Put(ctx, "", bytes.NewReader(large()), int64(len(large()))); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if n := w.uploads(); n != 0 {
			t.Errorf("%d uploads are left", n)
		}
	})
}

func TestPutRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		w.refuse("s3.PutObject")
		_, err := s.Put(w.Context(), "", bytes.NewReader(nil), 0)
		if driver.ClassOf(err) != driver.Denied || err == nil || !strings.Contains(err.Error(), "s3:PutObject") {
			t.Errorf("%v", err)
		}
		if _, err := s.Put(w.Context(), "a b", bytes.NewReader(nil), 0); err == nil {
			t.Error("a folder with a space was accepted")
		}
	})
}

// The objects of a store with a key are encrypted with it.
func TestPutEncrypted(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{Encryption: "arn:aws:kms:us-east-1:000000000000:key/1"})
		for _, body := range [][]byte{[]byte("x"), large()} {
			at := w.put(s, body)
			head := w.head(at)
			if diff := cmp.Diff([]string{"aws:kms", "arn:aws:kms:us-east-1:000000000000:key/1"}, head); diff != "" {
				t.Errorf("encryption (-want +got):\n%s", diff)
			}
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
