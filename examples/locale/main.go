package main

import (
	"context"
	"fmt"
	"log"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
)

// localeKey is the context key of the locale.
type localeKey struct{}

func withLocale(ctx context.Context, locale string) context.Context {
	return context.WithValue(ctx, localeKey{}, locale)
}

func localeOf(ctx context.Context) string {
	locale, _ := ctx.Value(localeKey{}).(string)
	return locale
}

// greet is business code: it reads the context, and does not know that a message carried the locale.
func greet(ctx context.Context, name string) string {
	switch localeOf(ctx) {
	case "de":
		return "Guten Tag, " + name
	case "fr":
		return "Bonjour, " + name
	}
	return "Hello, " + name
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	backend, err := local.Open(ctx, nil)
	check(err)
	locale := godwit.Meta{Header: "locale", From: localeOf, Into: withLocale}
	greetings, err := godwit.NewProducer(ctx, backend, "greetings", &godwit.ProducerOptions{
		Ordered:    true,
		Middleware: []godwit.SendMiddleware{godwit.Carry(locale)},
	})
	check(err)
	consumer, err := godwit.NewConsumer(ctx, backend, "greetings", &godwit.ConsumerOptions{
		Ordered:    true,
		Middleware: []godwit.Middleware{godwit.Restore(locale)},
	})
	check(err)

	check(greetings.Send(withLocale(ctx, "de"), godwit.Message{Body: []byte("Ada")}))
	check(greetings.Send(withLocale(ctx, "fr"), godwit.Message{Body: []byte("Blaise")}))
	check(greetings.Send(ctx, godwit.Message{Body: []byte("Charles")}))

	left := 3 // without order keys there is one lane, and so one handler at a time
	_, err = consumer.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		fmt.Println(greet(ctx, string(d.Body)))
		if left--; left == 0 {
			stop()
		}
		return nil
	})
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
