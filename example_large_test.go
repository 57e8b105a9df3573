package godwit_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// A body that is too large for the queue travels through a store. With Stream the handler reads it piece by piece, and
// the sender need not have it in memory, either.
func ExampleDelivery_Open() {
	ctx := context.Background()
	backend, err := local.Open(ctx, nil) // it has a store; on AWS set snssqs.Options.Store
	check(err)
	defer backend.Close(ctx)
	exports, err := godwit.NewConsumer(ctx, backend, "exports", &godwit.ConsumerOptions{Stream: true})
	check(err)

	producer, err := godwit.NewProducer(ctx, backend, "exports", nil)
	check(err)
	const size = 5 << 20
	check(producer.Send(ctx, godwit.Message{Reader: io.LimitReader(zeros{}, size), Size: size}))
	check(producer.Close(ctx))

	running, stop := context.WithCancel(ctx)
	_, err = exports.Run(running, func(ctx context.Context, d *godwit.Delivery) error {
		body, err := d.Open(ctx)
		if err != nil {
			return err // if the store does not work, this is no failed attempt
		}
		defer body.Close()
		packed := gzip.NewWriter(io.Discard)
		n, err := io.Copy(packed, body)
		if err != nil {
			return err
		}
		fmt.Println("packed", n, "bytes")
		stop()
		return packed.Close()
	})
	check(err)
	// Output: packed 5242880 bytes
}

// zeros is a Reader that does not end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
