package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// endpoint is never resolved, because the transport calls the server in process.
const endpoint = "http://localaws.internal"

// Bucket is the bucket of the embedded server with the bodies of large messages. A channel creates it.
const Bucket = "godwit-payloads"

// decisionsBucket is that of decisions about messages that can be cancelled. The lifecycle of bodies would delete them.
const decisionsBucket = "godwit-decisions"

// Options of a local backend. The zero value is usable.
type Options struct {
	// Server are the options of the embedded server; nil: its defaults, with a random seed that [localaws.Server.Seed]
	// returns. Set them to repeat a run by its seed, to use another region or account, or to keep messages in a Store
	// (package localaws/disk).
	Server *localaws.Options
	// Namespace is a prefix of the name of every queue and topic: prod---orders. Set it when the program under test
	// depends on those names.
	Namespace string
	// Cancel makes it possible to cancel messages (godwit.Message.Cancellable), with another bucket of the server. Set
	// it if the program under test does that.
	Cancel bool
	// Logger gets the warnings of the backend; nil: slog.Default(). Set it to log elsewhere, or to slog.DiscardHandler
	// for silence.
	Logger *slog.Logger
}

// Backend is a snssqs.Backend with a server in this process.
type Backend struct {
	*snssqs.Backend
	server *localaws.Server
	shared bool // the server belongs to somebody else
}

// Open starts a server in this process and opens a backend on it. Close drops its messages, unless Options.Server has a
// Store.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	opts := *cmp.Or(o, &Options{})
	server, err := localaws.New(opts.Server)
	if err != nil {
		return nil, fmt.Errorf("local: start the server: %w", err)
	}
	b, err := On(ctx, server, &opts)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	b.shared = false
	return b, nil
}

// On opens a backend on a server that runs in this process already. Of the options of the server, only the region is
// used. Close leaves the server as it is.
func On(ctx context.Context, server *localaws.Server, o *Options) (*Backend, error) {
	opts := *cmp.Or(o, &Options{})
	region := "us-east-1"
	if opts.Server != nil && opts.Server.Region != "" {
		region = opts.Server.Region
	}
	conf := aws.Config{
		Region: region, BaseEndpoint: aws.String(endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	store, err := s3store.Open(ctx, &s3store.Options{Bucket: Bucket, AWS: &conf, Transport: server.Transport()})
	if err != nil {
		return nil, err
	}
	so := &snssqs.Options{
		Store: store, Namespace: opts.Namespace, AWS: &conf, Transport: server.Transport(), Logger: opts.Logger,
		CancelPolls: true, // the server never drops an answer
	}
	if opts.Cancel {
		so.Decisions, err = s3store.OpenDecisions(ctx, &s3store.Options{
			Bucket: decisionsBucket, Prefix: "decisions/", AWS: &conf, Transport: server.Transport(),
		})
		if err != nil {
			return nil, err
		}
	}
	b, err := snssqs.Open(ctx, so)
	if err != nil {
		return nil, err
	}
	return &Backend{Backend: b, server: server, shared: true}, nil
}

// Server returns the embedded server, for inspection, for injecting faults, and for advancing its clock.
func (b *Backend) Server() *localaws.Server { return b.server }

// Close closes the backend, and stops the server that Open has started.
func (b *Backend) Close(ctx context.Context) error {
	if b.shared {
		return b.Backend.Close(ctx)
	}
	return errors.Join(b.Backend.Close(ctx), b.server.Close())
}
