package s3store_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/s3store"
)

// Objects of the store and of sources with Delete are deleted, and no others.
func TestDelete(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("theirs")
		w.create("given")
		s := w.ready(s3store.Options{
			Prefix:  "big/",
			Sources: []s3store.Source{{Bucket: "theirs"}, {Bucket: "given", Delete: true}, {Bucket: bucket}},
		})
		gone := []driver.Location{w.put(s, []byte("1")), w.put(s, []byte("2")), w.foreign("given", "x")}
		stays := []driver.Location{w.foreign("theirs", "x"), w.foreign(bucket, "others/x")}
		for range 2 { // the second time they are gone already
			if err := s.Delete(w.Context(), append(gone, stays...)); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range gone {
			if _, err := w.read(s, at); driver.ClassOf(err) != driver.NotFound {
				t.Errorf("%v: %v", at, err)
			}
		}
		for _, at := range stays {
			if _, err := w.read(s, at); err != nil {
				t.Errorf("%v: %v", at, err)
			}
		}
		w.down("s3.DeleteObjects", 15*time.Second)
		if err := s.Delete(w.Context(), gone); err != nil {
			t.Error(err)
		}
		w.refuse("s3.DeleteObjects")
		if err := s.Delete(w.Context(), gone); driver.ClassOf(err) != driver.Denied {
			t.Error(err)
		}
	})
}
