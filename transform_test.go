package godwit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
)

func nothing(context.Context, *godwit.Delivery) ([]godwit.Message, error) { return nil, nil }

// Transform is refused if its messages could not be sent exactly once, before anything is received.
func TestTransformIsRefused(t *testing.T) {
	open := func() *memdriver.Backend {
		b, err := memdriver.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ends := func(b godwit.Backend) (*godwit.Consumer, *godwit.Producer) {
		c, err := godwit.NewConsumer(t.Context(), b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(t.Context(), b, "results", nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, p
	}
	plain, _ := ends(open())
	_, plainTo := ends(open())
	able, ableTo := ends(&transforming{Backend: open()})
	_, elsewhere := ends(&transforming{Backend: open()})
	for name, c := range map[string]struct {
		c    *godwit.Consumer
		p    *godwit.Producer
		f    godwit.TransformFunc
		want string
	}{
		"no transactions": {plain, plainTo, nothing, "it has no transactions"},
		"two backends":    {able, elsewhere, nothing, "create both with the same one"},
		"no function":     {able, ableTo, nil, "it needs a function"},
		"no consumer":     {nil, ableTo, nothing, "NewConsumer"},
		"no producer":     {able, nil, nothing, "NewProducer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := godwit.Transform(t.Context(), c.c, c.p, c.f)
			if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want one with %q", err, c.want)
			}
		})
	}
}

// transforming is a backend with an ability of transactions, which notes what is attached to which body.
type transforming struct {
	*memdriver.Backend
	attached map[string][]driver.Prepared
}

func (b *transforming) Transform(
	ctx context.Context, from driver.Channel, _ driver.Sender, o driver.ReceiverOptions,
) (driver.TransformReceiver, error) {
	r, err := b.Receiver(ctx, from, o)
	return &transformed{Receiver: r, b: b, bodies: map[driver.Handle]string{}}, err
}

type transformed struct {
	driver.Receiver
	b      *transforming
	bodies map[driver.Handle]string
}

func (r *transformed) Receive(
	ctx context.Context, ask driver.Ask, into []driver.Delivery,
) ([]driver.Delivery, error) {
	into, err := r.Receiver.Receive(ctx, ask, into)
	for _, d := range into {
		r.bodies[d.Handle] = string(d.Body)
	}
	return into, err
}

func (r *transformed) Attach(h driver.Handle, ms []driver.Prepared) {
	body, known := r.bodies[h]
	if !known {
		body = "unknown"
	}
	r.b.attached[body] = ms
}

// Messages are attached when the function and all middleware have succeeded, and the delivery is done.
func TestTransformAttachesResults(t *testing.T) {
	memory, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &transforming{Backend: memory, attached: map[string][]driver.Prepared{}}
	ctx, cancel := context.WithCancel(t.Context())
	handled := 0
	c, err := godwit.NewConsumer(t.Context(), b, "orders", &godwit.ConsumerOptions{
		Concurrency: 1, MaxAttempts: 1, Middleware: []godwit.Middleware{func(next godwit.Handler) godwit.Handler {
			return func(ctx context.Context, d *godwit.Delivery) error {
				if handled++; handled == 5 {
					defer cancel()
				}
				err := next(ctx, d)
				if string(d.Body) == "middleware" {
					return errors.New("the middleware fails")
				}
				return err
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	in, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := godwit.NewProducer(t.Context(), b, "results", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"two", "none", "fails", "middleware", "rejects"} {
		if err := in.Send(t.Context(), godwit.Message{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = godwit.Transform(ctx, c, to, func(_ context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
		two := []godwit.Message{{Body: d.Body}, {Body: d.Body}}
		switch string(d.Body) {
		case "none":
			return nil, nil
		case "fails":
			return two, errors.New("no")
		case "rejects":
			return two, d.Reject(errors.New("no"))
		}
		return two, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.attached) != 2 || len(b.attached["two"]) != 2 || len(b.attached["none"]) != 0 {
		t.Errorf("attached: %v", b.attached)
	}
}
