package conformance

import (
	"fmt"
	"io"
	"sync"
	"testing"
)

func TestS3Condition(t *testing.T) {
	runBucket(t, "a write may require that there is no object, or a certain one", func(b *bucket) {
		etag := b.put("k", "x", "If-None-Match", "*").header.Get("ETag")
		for _, c := range []struct {
			key    string
			h      headers
			status int
			code   string
		}{
			{"k", headers{"If-None-Match", "*"}, 412, "PreconditionFailed"},
			{"k", headers{"If-Match", `"x"`}, 412, "PreconditionFailed"},
			{"none", headers{"If-Match", etag}, 404, "NoSuchKey"},
			{"k", headers{"If-None-Match", etag}, 501, "NotImplemented"},
			{"k", headers{"If-None-Match", "*", "If-Match", etag}, 501, "NotImplemented"},
		} {
			b.wants("put", b.call("PUT", c.key, c.h, "y"), c.status, c.code)
			b.wants("copy", b.call("PUT", c.key, append(headers{"x-amz-copy-source", b.name + "/k"}, c.h...), ""),
				c.status,
				c.code)
			id := b.start(c.key)
			part := b.part(c.key, id, 1, "y")
			b.wants("complete", b.complete(c.key, id, completeXML(nil, part), c.h...), c.status, c.code)
			b.wants("the upload is kept", b.call("DELETE", c.key+"?uploadId="+id, nil, ""), 204, "")
		}
		if got := b.call("GET", "k", nil, ""); got.body != "x" {
			b.Errorf("a refused write has written %q", got.body)
		}
		id := b.start("k")
		part := b.part("k", id, 1, "y")
		b.wants("complete", b.complete("k", id, completeXML(nil, part), "If-Match", etag), 200, "")
		id = b.start("new")
		part = b.part("new", id, 1, "y")
		b.wants("complete", b.complete("new", id, completeXML(nil, part), "If-None-Match", "*"), 200, "")
	})
	runBucket(t, "when two write at once, one is refused", func(b *bucket) {
		var mu sync.Mutex
		results := map[int]int{}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				r := b.call("PUT", "k", headers{"If-None-Match", "*"}, "x")
				mu.Lock()
				defer mu.Unlock()
				results[r.status]++
			})
		}
		all.Wait()
		if results[200] != 1 || results[409]+results[412] != 7 {
			b.Errorf("results %v", results)
		}
	})
	runBucket(t, "a condition that holds, of a key that was changed meanwhile, is ConditionalRequestConflict", func(b *bucket) {
		if b.local == nil {
			b.Skip("needs a body that waits")
		}
		for name, meanwhile := range map[string]func(){
			"412 PreconditionFailed":         func() { b.put("k", "z") },
			"409 ConditionalRequestConflict": func() { b.put("k", "z"); b.call("DELETE", "k", nil, "") },
		} {
			b.call("DELETE", "k", nil, "")
			out, in := io.Pipe()
			done := make(chan reply, 1)
			b.beside(func() {
				r := b.request("PUT", "k", headers{"If-None-Match", "*"}, "")
				r.Body, r.ContentLength = out, 2
				done <- b.send(r)
			})
			if _, err := in.Write([]byte("a")); err != nil { // the request has begun
				b.Fatal(err)
			}
			meanwhile()
			if _, err := in.Write([]byte("b")); err != nil {
				b.Fatal(err)
			}
			if r := <-done; fmt.Sprint(r.status, " ", r.code()) != name {
				b.Errorf("%d %s, want %s", r.status, r.code(), name)
			}
		}
	})
}
