package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

func main() {
	ordered := flag.Bool("ordered", false, "the channel is ordered")
	lease := flag.Duration("lease", 30*time.Second, "the consumer's lease")
	busy := flag.Bool("busy", false, "only keep a processor busy")
	flag.Parse()
	if *busy {
		for sum := 0; ; sum++ {
			if sum < 0 {
				fmt.Println(sum) // so that the loop is not empty
			}
		}
	}
	os.Exit(godwit.Main(func(ctx context.Context) error {
		return consume(ctx, &godwit.ConsumerOptions{Ordered: *ordered, Concurrency: 4, Lease: *lease})
	}))
}

// consume consumes the channel orders. The environment names the server.
func consume(ctx context.Context, o *godwit.ConsumerOptions) (err error) {
	b, err := snssqs.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	c, err := godwit.NewConsumer(ctx, b, "orders", o)
	if err != nil {
		return err
	}
	say("ready", "")
	report, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		say("start", string(d.Body))
		time.Sleep(rand.N(5 * time.Millisecond))
		say("end", string(d.Body))
		return nil
	})
	fmt.Fprintf(os.Stderr, "%+v\n", report)
	return err
}

// say writes one line, with one call, so that lines of several handlers do not mix.
func say(what, body string) {
	fmt.Fprintf(os.Stdout, "%d %s %s\n", time.Now().UnixNano(), what, body)
}
