package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/boot"
	"github.com/godwitmq/godwit/cmd/godwit/internal/detach"
	"github.com/godwitmq/godwit/cmd/godwit/internal/faults"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/disk"
)

// defaultAddr has the port of LocalStack, which clients and compose files already use, on loopback only.
const defaultAddr = "127.0.0.1:4566"

// localOptions are the flags of `godwit local`.
type localOptions struct {
	addr      string
	account   string
	region    string
	single    bool     // one region for every request
	seed      string   // a file; "": nothing is created
	init      []string // folders of seeds and scripts
	initMust  bool     // a seed or script that fails ends the command
	random    uint64   // the seed of ids and receipt handles; 0: a random one
	kafka     string   // an address; "": no Kafka
	kafkaData string   // a folder; "": that in data, or Kafka in memory
	data      string   // a folder; "": everything is in memory

	hosts, origins, endpoints []string // what is allowed in addition to this machine

	waits, lenient, requests bool
	latencies, failures      []string // by action

	console string // an address, or consoleOff

	detach bool
	start  boot.Start // of what init has
	stop   func()     // ends run
}

func newLocal() *cobra.Command {
	o := localOptions{}
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run an AWS, and a Kafka, on this machine, for unmodified clients",
		Long: "Run an AWS, and a Kafka, on this machine, for unmodified clients.\n\n" +
			"Prints the exports that point clients at it, and runs until it is interrupted. Without --data, everything is " +
			"in memory.",
		Example: "  eval \"$(godwit local --detach)\"; go test ./...; godwit local stop",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			o.stop = stop
			options, err := o.options(cmd.ErrOrStderr())
			if err == nil {
				err = errors.Join(o.checkKafka(), checkConsole(o.console))
			}
			if err != nil {
				return usage(cmd, err)
			}
			if o.detach {
				return detach.Start(cmd.Context(), arguments(cmd.Context()), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return o.serve(ctx, options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.seed, "seed", "",
			"a JSON `file` of what to create at start; queues, topics, subscriptions, buckets, and topics of Kafka")
		f.StringArrayVar(&o.init, "init", nil,
			"a `folder` of seeds (.json) and scripts to run at start; in the order of their names, with the exports "+
				"set, before the server is ready; may be repeated")
	})
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.addr, "addr", defaultAddr, "`host:port` to listen on; port 0 chooses a free one")
		f.StringVar(&o.account, "account", "000000000000",
			"the account's `ID`; twelve digits, for access keys that are not the ID of an account themselves")
		f.StringVar(&o.region, "region", "us-east-1",
			"the `region` of the exports; also of requests that are not signed, and of seeds that name none; other "+
				"requests work in the region that they are signed for")
		f.StringVar(&o.data, "data", "",
			"the `folder` in which everything is kept; only its owner can read it; that of Kafka is in kafka below it")
		f.StringVar(&o.kafka, "kafka", "",
			"`host:port` to serve Kafka on; without a host on loopback; port 0 chooses a free one")
		f.StringVar(&o.kafkaData, "kafka-data", "",
			"the `folder` for Kafka's data; instead of that in --data; only its owner can read it")
		f.StringVar(&o.console, "console", consoleAddr,
			"`host:port` to serve the console on; a web page of the channels, for this machine; off: none")
	})
	f := cmd.Flags()
	f.BoolVar(&o.single, "single-region", false, "let every request work in --region; whatever it is signed for")
	f.BoolVar(&o.initMust, "init-must", false, "end if something of --init fails; instead of telling it")
	f.Uint64Var(&o.random, "random-seed", 0,
		"the `number` that determines ids; and receipt handles; 0 chooses one and prints it")
	f.StringArrayVar(&o.hosts, "allow-host", nil,
		"a `name` by which clients call the server; with the names below it; may be repeated; addresses, localhost and "+
			"names without dots need none")
	f.StringArrayVar(&o.origins, "allow-origin", nil,
		"an `origin` whose web pages may call the server; like http://localhost:3000; may be repeated; other pages are "+
			"refused")
	f.StringArrayVar(&o.endpoints, "allow-endpoint", nil,
		"a host `name` to which SNS delivers over HTTP; or a range of addresses like 172.17.0.0/16; may be repeated; this "+
			"machine needs none")
	f.BoolVar(&o.detach, "detach", false,
		"serve in a process of its own; return when it is ready; the command stop ends it")
	f.BoolVar(&o.waits, "realistic-waits", false,
		"make clients wait as AWS does; 60 s between purges, and before the name of a deleted queue can be used; 15 minutes "+
			"for the first metrics of a queue")
	f.BoolVar(&o.lenient, "lenient-policies", false,
		"deliver also to queues without a policy; and let other accounts do what no policy denies, as other emulators do; "+
			"AWS does not; the log says what AWS would refuse")
	f.BoolVar(&o.requests, "log-requests", false,
		"log each call on standard error; action, resource, status and time")
	f.StringArrayVar(&o.latencies, "latency", nil,
		"a `delay` of calls, like sqs.*=20ms-200ms; may be repeated; the first that means a call applies")
	f.StringArrayVar(&o.failures, "error-rate", nil,
		"the `share` of calls that fail, like sqs.*=0.1%; with 503 and no effect; may be repeated; the first that means a "+
			"call applies")
	manual.Rare(cmd, "account", "allow-endpoint", "allow-host", "allow-origin", "init-must", "kafka-data",
		"lenient-policies", "random-seed", "realistic-waits", "single-region")
	manual.More(cmd, "Any access key and secret are accepted; an access key of twelve digits is an account of its own. With "+
		"--data, what is acknowledged is on disk, and the next command with the same folder continues, also after kill -9. "+
		"Kafka does not create topics automatically. A file for --seed:\n\n"+
		"  {\"queues\": [{\"name\": \"orders-dlq\"}, {\"name\": \"orders\",\n"+
		"     \"deadLetterQueue\": \"orders-dlq\", \"maxReceiveCount\": 5}],\n"+
		"   \"topics\": [{\"name\": \"events\", \"subscriptions\": [{\"queue\": \"orders\",\n"+
		"     \"attributes\": {\"RawMessageDelivery\": true}}]}],\n"+
		"   \"kafka\": [{\"name\": \"payments\", \"partitions\": 4,\n"+
		"     \"configs\": {\"retention.ms\": \"3600000\"}}]}", "docs/localaws.md")
	cmd.AddCommand(newLocalStop(), newLocalPing())
	return cmd
}

// options checks the flags, and returns the options of the server. An error means wrong usage.
func (o *localOptions) options(errOut io.Writer) (*localaws.Options, error) {
	if _, _, err := net.SplitHostPort(o.addr); err != nil {
		return nil, fmt.Errorf("--addr %q is not of the form host:port, like %s", o.addr, defaultAddr)
	}
	if err := checkInput("--seed", o.seed); err != nil {
		return nil, err
	}
	for _, path := range o.init {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--init %s is not a folder", path)
		}
	}
	rules, err := faults.New(o.latencies, o.failures, o.random)
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(errOut, nil))
	options := &localaws.Options{
		Account: o.account,
		Region:  o.region,
		Seed:    o.random,
		Logger:  logger,

		SingleRegion: o.single,

		AllowHosts: o.hosts, AllowOrigins: o.origins, AllowEndpoints: o.endpoints,

		RealisticWaits: o.waits, LenientPolicies: o.lenient, Control: rules.Control(), Stop: o.stop,
		Scripts: func() ([]localaws.Script, bool) {
			scripts, ready := o.start.Scripts()
			all := make([]localaws.Script, len(scripts))
			for i, s := range scripts {
				all[i] = localaws.Script(s)
			}
			return all, ready
		},
	}
	if o.requests {
		options.Requests = logger
	}
	server, err := localaws.New(options) // in memory, for what it checks
	if err != nil {
		return nil, err
	}
	return options, server.Close()
}

// serve opens the folder of the data, and serves until ctx ends.
func (o *localOptions) serve(ctx context.Context, options *localaws.Options, out, errOut io.Writer) error {
	if o.data != "" {
		store, err := disk.Open(o.data, &disk.Options{Logger: options.Logger})
		if err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		options.Store = store
		server, err := localaws.New(options)
		if err == nil {
			err = o.run(ctx, server, out, errOut)
		}
		return errors.Join(err, store.Close())
	}
	server, err := localaws.New(options)
	if err != nil {
		return err
	}
	return o.run(ctx, server, out, errOut)
}

// run serves until ctx ends.
func (o *localOptions) run(ctx context.Context, server *localaws.Server, out, errOut io.Writer) (err error) {
	defer func() { err = errors.Join(err, server.Close()) }()
	addr, err := server.Listen(o.addr)
	if err != nil {
		return fmt.Errorf("%w (--addr 127.0.0.1:0 chooses a free port)", err)
	}
	if o.seed != "" {
		if err := server.Plant(ctx, o.seed); err != nil {
			return fmt.Errorf("--seed: %w", err)
		}
	}
	warnBeyondLoopback(errOut, addr.String())
	exports := o.exports(addr)
	if o.kafka != "" {
		kafka, broken := o.serveKafka(ctx, errOut)
		if broken != nil {
			return broken
		}
		defer func() { err = errors.Join(err, kafka.Close()) }()
		exports += "export KAFKA_BOOTSTRAP_SERVERS=" + kafka.Addr() + "\n" +
			"export " + backendVariable + "=" + onAWS + " # for the command godwit: or " + onKafka + "\n"
	} else if topics, broken := o.kafkaSeed(); broken != nil || len(topics) > 0 {
		fmt.Fprintln(errOut, "warning: the topics of Kafka in the seed file are not created without --kafka")
	}
	for _, path := range o.init {
		o.start.Expect(path)
	}
	for _, path := range o.init {
		folder := boot.Folder{
			Path: path, Plant: server.Plant, Env: variables(exports), Start: &o.start, Out: errOut,
		}
		if err := folder.Run(ctx); err != nil && o.initMust {
			return fmt.Errorf("--init: %w", err)
		}
	}
	closeConsole, err := o.serveConsole(ctx, server, errOut)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeConsole()) }()
	if _, err := io.WriteString(out, exports); err != nil {
		return err
	}
	o.start.Ready()
	// Testcontainers' module for LocalStack waits for a line that ends so.
	fmt.Fprintf(errOut, "interrupt (Ctrl-C) stops it; --random-seed %d repeats its ids\nReady.\n", server.Seed())
	if err := detach.Ready(out); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// serveConsole serves the console of the server, and prints its address.
func (o *localOptions) serveConsole(ctx context.Context, server *localaws.Server, errOut io.Writer) (
	stop func() error, err error,
) {
	if o.console == consoleOff {
		return func() error { return nil }, nil
	}
	b, err := local.On(ctx, server, &local.Options{
		Server: &localaws.Options{Region: o.region}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	end, err := mountConsole(o.console, server, b, o.region, nil, errOut)
	if err != nil {
		return nil, errors.Join(err, b.Close(ctx))
	}
	return func() error { return errors.Join(end(), b.Close(context.Background())) }, nil
}

// exports returns the shell commands that point AWS clients at the server.
func (o *localOptions) exports(addr net.Addr) string {
	// boto3 and the command aws read only AWS_DEFAULT_REGION.
	return fmt.Sprintf("export AWS_ENDPOINT_URL=%s\nexport AWS_REGION=%s\nexport AWS_DEFAULT_REGION=%s\n"+
		"export AWS_ACCESS_KEY_ID=local\nexport AWS_SECRET_ACCESS_KEY=local\n", endpoint(addr), o.region, o.region)
}

// variables returns the variables that exports set.
func variables(exports string) (env []string) {
	for line := range strings.Lines(exports) {
		line, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), " #")
		env = append(env, line)
	}
	return env
}

// endpoint returns the URL by which this machine reaches the address; an address for all interfaces cannot be dialled.
func endpoint(addr net.Addr) string {
	if p, err := netip.ParseAddrPort(addr.String()); err == nil && p.Addr().IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", p.Port())
	}
	return "http://" + addr.String()
}

// warnBeyondLoopback warns if other machines can connect.
func warnBeyondLoopback(errOut io.Writer, addr string) {
	if beyondLoopback(addr) {
		fmt.Fprintf(errOut,
			"warning: listening on %s: everyone who can reach this machine can read and change all its data, because "+
				"there is "+
				"no authentication\n", addr)
	}
}

func beyondLoopback(addr string) bool {
	p, err := netip.ParseAddrPort(addr)
	return err != nil || !p.Addr().Unmap().IsLoopback()
}

// checkKafka checks the options for Kafka. An error means wrong usage.
func (o *localOptions) checkKafka() error {
	if o.kafka == "" {
		if o.kafkaData != "" {
			return errors.New("--kafka-data needs --kafka")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(o.kafka)
	if err != nil {
		return fmt.Errorf("--kafka %q is not of the form host:port, like 127.0.0.1:9092 or :9092", o.kafka)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("--kafka %q stands for all interfaces, and Kafka tells its clients where to connect: name "+
			"one address of this machine", o.kafka)
	}
	o.kafka = onLoopback(host, port)
	return nil
}

// onLoopback is the address to listen on; without a host, it is on loopback.
func onLoopback(host, port string) string { return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port) }

// kafkaSeed returns the topics of Kafka in the seed file. Unknown fields of the file are the business of others.
func (o *localOptions) kafkaSeed() ([]kafkalocal.SeedTopic, error) {
	if o.seed == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.seed)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	var file struct {
		Kafka []json.RawMessage `json:"kafka"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("--seed: %s: %w", o.seed, err)
	}
	topics := make([]kafkalocal.SeedTopic, len(file.Kafka))
	for i, raw := range file.Kafka {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&topics[i]); err != nil {
			return nil, fmt.Errorf("--seed: %s: kafka[%d]: %w", o.seed, i, err)
		}
	}
	return topics, nil
}

// serveKafka serves until the server is closed.
func (o *localOptions) serveKafka(ctx context.Context, errOut io.Writer) (*kafkalocal.Server, error) {
	topics, err := o.kafkaSeed()
	if err != nil {
		return nil, err
	}
	dir := o.kafkaData
	if dir == "" && o.data != "" {
		dir = filepath.Join(o.data, "kafka")
	}
	server, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{
		Addr: o.kafka, Dir: dir,
		Logger: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, fmt.Errorf("%w (--kafka :0 chooses a free port)", err)
	}
	if err := server.Plant(ctx, topics...); err != nil {
		return nil, errors.Join(fmt.Errorf("--seed: %w", err), server.Close())
	}
	warnBeyondLoopback(errOut, server.Addr())
	return server, nil
}
