package s3store_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/s3store"
)

// A list has the store's objects below a folder, over several pages, and no others.
func TestList(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{Prefix: "big/"})
		var want []driver.Object
		wrote := time.Now()
		for i := range 1100 {
			body := strings.Repeat("x", i%7)
			at, err := s.Put(w.Context(), "kafka/c/topics/orders", strings.NewReader(body), int64(len(body)))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, driver.Object{Location: at, Size: int64(len(body)), Written: wrote})
		}
		id := want[0].Key[strings.LastIndexByte(want[0].Key, '/')+1:]
		for _, key := range []string{
			"kafka/c/topics/orders/" + id, "big/kafka/c/topics/orders/plain", "big/kafka/c/topics2/orders/" + id,
			"big/kafka/c/topics/orders/x" + id, "big/kafka/c/topics/\x01 +%/plain", "big/kafka/c/topics/../" + id,
		} {
			w.foreign(bucket, key)
		}
		w.put(s, nil) // of another folder
		var got []driver.Object
		for o, err := range s.List(w.Context(), "kafka/c/topics") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, o)
		}
		near := cmp.Options{
			cmpopts.EquateApproxTime(time.Second),
			cmpopts.SortSlices(func(x, y driver.Object) bool { return x.Key < y.Key }),
		}
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, err := range s.List(w.Context(), "kafka/c/topics") {
			if err != nil {
				t.Error(err)
			}
			break // the caller may end early
		}
	})
}

func TestListErrors(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.ready(s3store.Options{})
		if _, err := s.Put(w.Context(), "f", bytes.NewReader(nil), 0); err != nil {
			t.Fatal(err)
		}
		list := func() (n int, err error) {
			for _, err = range s.List(w.Context(), "f") {
				n++
			}
			return n, err
		}
		w.down("s3.ListObjectsV2", 15*time.Second)
		if n, err := list(); n != 1 || err != nil {
			t.Errorf("after an outage of 15 s: %d objects, %v", n, err)
		}
		w.refuse("s3.ListObjectsV2")
		if n, err := list(); n != 1 || err == nil || driver.ClassOf(err) != driver.Denied ||
			!strings.Contains(err.Error(), "s3:ListBucket") {
			t.Errorf("refused: %d, %v", n, err)
		}
	})
}
