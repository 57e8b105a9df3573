package godwittest_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
	"github.com/godwitmq/godwit/local"
)

// transfer is a call of an application about an object. It returns the status and the body; an error is status 0.
func transfer(t *testing.T, h *godwittest.Harness, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localaws/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.Server().Transport().RoundTrip(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, string(text)
	}
	return answer.StatusCode, string(text)
}

func TestObjectsOfABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		files := h.Bucket("files")
		files.AssertObjects("")
		transfer(t, h, "PUT", "files", "")
		transfer(t, h, "PUT", "files?lifecycle", `<LifecycleConfiguration><Rule><Status>Enabled</Status>`+
			`<Filter><Prefix>in/</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`)
		for _, key := range []string{"in/b", "in/a", "out/c"} {
			if status, body := transfer(t, h, "PUT", "files/"+key, "five!"); status != 200 {
				t.Fatal(status, body)
			}
		}
		files.AssertObjects("", "in/a", "in/b", "out/c")
		files.AssertObjects("in/", "in/b", "in/a")
		all := files.Objects("")
		if all[0].Size != 5 || !all[0].Modified.Equal(time.Now()) {
			t.Errorf("%+v", all[0])
		}
		if all[0].Expires.IsZero() || !all[2].Expires.IsZero() {
			t.Errorf("they expire at %v, %v", all[0].Expires, all[2].Expires)
		}
		h.Advance(49 * time.Hour)
		files.AssertObjects("", "out/c")
	})
}

func TestFaultsOfABucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		transfer(t, h, "PUT", "files", "")
		transfer(t, h, "PUT", "other", "")
		files := h.Bucket("files")
		long := strings.Repeat("x", 1000)
		files.Break(godwittest.Uploads, "in/", 1, 100)
		files.Throttle(godwittest.Uploads, "in/", 1)
		files.Fail(godwittest.Uploads, "in/", 1)
		files.LoseAnswers(godwittest.Uploads, "in/b", 1)
		files.Break(godwittest.Downloads, "in/a", 1, 100)
		denied := files.Deny(godwittest.Removals, "in/")
		var got []int
		call := func(method, path, body string) {
			status, _ := transfer(t, h, method, path, body)
			got = append(got, status)
		}
		call("PUT", "other/in/a", long) // of another bucket
		call("PUT", "files/out", long)  // of another prefix
		call("PUT", "files/in/a", long) // breaks
		files.AssertObjects("", "out")
		call("PUT", "files/in/a", long) // throttled
		call("PUT", "files/in/a", long) // fails
		call("PUT", "files/in/a", long)
		call("PUT", "files/in/b", long) // its answer is lost
		files.AssertObjects("", "in/a", "in/b", "out")
		call("GET", "files/in/a", "") // breaks
		call("GET", "files/in/a", "")
		call("DELETE", "files/in/a", "")
		call("DELETE", "files/out", "")
		call("POST", "files?delete", "<Delete><Object><Key>in/a</Key></Object></Delete>")
		denied.Lift()
		call("DELETE", "files/in/a", "")
		want := []int{200, 200, 0, 503, 500, 200, 0, 0, 200, 403, 204, 403, 204}
		if !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
		files.AssertObjects("", "in/b")
	})
}

// TestFaultsOfABucketThatCannotBe: a fault that cannot happen ends the test, and one that did not happen fails it.
func TestFaultsOfABucketThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		inject func(b *godwittest.Bucket)
		want   string
	}{
		"no call":        {func(b *godwittest.Bucket) { b.Fail(godwittest.Uploads, "", 0) }, "at least 1"},
		"no byte":        {func(b *godwittest.Bucket) { b.Break(godwittest.Uploads, "", 1, 0) }, "number of bytes"},
		"no body":        {func(b *godwittest.Bucket) { b.Break(godwittest.Removals, "", 1, 1) }, "have bodies"},
		"no kind":        {func(b *godwittest.Bucket) { b.Deny("uploading", "") }, "must be Uploads"},
		"never happened": {func(b *godwittest.Bucket) { b.Fail(godwittest.Uploads, "in/", 1) }, "never happened"},
		"no object":      {func(b *godwittest.Bucket) { b.AssertObjects("in/", "in/a") }, `missing: "in/a"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failure := record(t, func(r *recorder) { c.inject(godwittest.New(r, nil).Bucket("files")) })
				says(t, failure, c.want, "files")
			})
		})
	}
}

// TestALargeMessage: the body of a large message is an object, whose faults the consumer survives, and which is removed
// after the message.
func TestALargeMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		bodies := h.Bucket(local.Bucket)
		consumer := h.Consumer("orders", nil)
		large := strings.Repeat("x", 300_000)
		bodies.Fail(godwittest.Uploads, "", 1)
		h.Send(h.Producer("orders", nil), godwittest.Bodies(large)...)
		if got := bodies.Objects(""); len(got) != 1 || got[0].Size != int64(len(large)) {
			t.Fatalf("%+v", got)
		}
		bodies.Break(godwittest.Downloads, "", 1, 1000)
		var got int
		h.Run(consumer, func(_ context.Context, d *godwit.Delivery) error {
			got = len(d.Body)
			return nil
		})
		h.AwaitHandled("orders", 1)
		h.AwaitNothingLeft()
		if got != len(large) {
			t.Errorf("the handler got %d bytes", got)
		}
		bodies.AssertObjects("")
	})
}
