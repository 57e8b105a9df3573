package localaws_test

import (
	"flag"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/godwitmq/godwit/localaws"
)

// endless is a body of zeros that is not in memory.
type endless struct{ at, size int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.at == e.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.size-e.at)
	clear(p[:n])
	e.at += n
	return int(n), nil
}

func (e *endless) Seek(offset int64, whence int) (int64, error) {
	e.at = offset + []int64{0, e.at, e.size}[whence]
	return e.at, nil
}

var largeBody = flag.Int64("large", 80<<20, "size of the bodies of TestLargeBodiesAreNotInMemory, at least 50 MiB")

// heapLimit is what large bodies may add to the heap.
const heapLimit = 16 << 20

// peak returns the largest size of the heap in use while f runs, above that before.
func peak(f func()) int64 {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse) //nolint:gosec // far below the limit
	}
	runtime.GC()
	before := heap()
	most, stop := before, make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				most = max(most, heap())
			}
		}
	})
	f()
	close(stop)
	watch.Wait()
	return most - before
}

// TestLargeBodiesAreNotInMemory: an object that goes up, down, is copied and comes in ten parts stays out of the heap,
// in process and over a socket.
func TestLargeBodiesAreNotInMemory(t *testing.T) {
	size := *largeBody
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	carrier := &http.Transport{}
	defer carrier.CloseIdleConnections()
	socket := func(o *s3.Options) {
		o.BaseEndpoint, o.HTTPClient = aws.String("http://"+address.String()), &http.Client{Transport: carrier}
	}
	c, name := bucketClient(server, true), aws.String("large")
	if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: name}); err != nil {
		t.Fatal(err)
	}
	put := func(key string, o ...func(*s3.Options)) {
		if _, err := c.PutObject(ctx, &s3.PutObjectInput{
			Bucket: name, Key: &key, Body: &endless{size: size}, ContentLength: &size,
		}, o...); err != nil {
			t.Error(err)
		}
	}
	get := func(key string, o ...func(*s3.Options)) {
		got, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: name, Key: &key}, o...)
		if err != nil {
			t.Error(err)
			return
		}
		defer got.Body.Close()
		if n, err := io.Copy(io.Discard, got.Body); n != size || err != nil {
			t.Errorf("%s: %d bytes, %v", key, n, err)
		}
	}
	for what, f := range map[string]func(){
		"up":                 func() { put("a") },
		"up over a socket":   func() { put("b", socket) },
		"down":               func() { put("a"); get("a") },
		"down over a socket": func() { put("a"); get("a", socket) },
		"copied": func() {
			put("a")
			if _, err := c.CopyObject(ctx, &s3.CopyObjectInput{
				Bucket: name, Key: aws.String("copy"), CopySource: aws.String("large/a"),
				ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c, // which reads it
			}); err != nil {
				t.Error(err)
			}
		},
		"in ten parts": func() {
			if err := inParts(t, c, name, size/10); err != nil {
				t.Error(err)
			}
		},
	} {
		if added := peak(f); added > heapLimit {
			t.Errorf("%s: %d MiB are added to the heap, want less than %d", what, added>>20, heapLimit>>20)
		}
	}
}

func inParts(t *testing.T, c *s3.Client, name *string, size int64) error {
	ctx, key := t.Context(), aws.String("parts")
	up, err := c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: name, Key: key})
	if err != nil {
		return err
	}
	var parts []types.CompletedPart
	for n := range int32(10) {
		part, err := c.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: name, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(n + 1), Body: &endless{size: size},
			ContentLength: &size,
		})
		if err != nil {
			return err
		}
		parts = append(parts, types.CompletedPart{PartNumber: aws.Int32(n + 1), ETag: part.ETag})
	}
	_, err = c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: name, Key: key, UploadId: up.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return err
}

// live returns the size of what is reachable.
func live() int64 {
	runtime.GC()
	runtime.GC() // what pools keep goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below the limit
}
