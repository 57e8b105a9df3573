package main

import (
	"cmp"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wrongText is a wrong value of a flag, and what the command says then.
type wrongText struct {
	value  string
	says   string
	status int    // 0: wrong usage
	any    string // why no text is wrong; "": some are
}

// wrongTexts has a row for each flag with a text: by command and flag, or by the flag alone for all commands that have
// no row of their own.
var wrongTexts = map[string]wrongText{
	"--context":   {value: "nosuch", says: `there is no context "nosuch"`},
	"--backend":   {value: "rabbit", says: `--backend is "rabbit": use aws or kafka`},
	"--namespace": {value: "a b", says: `--namespace is "a b": use letters`},
	"--names":     {value: "/nosuch", says: "--names: open /nosuch: no such file"},
	"--bucket":    {value: "A", says: `--bucket is "A": the name of a bucket has 3 to 63`},
	"--prefix":    {value: "big/", says: "--prefix is set without --bucket"},
	"--output":    {value: "xml", says: `--output is "xml": use table, json or jsonl`},
	"--workers":   {value: "://", says: "--workers: the address of a process is"},
	"--sns":       {value: "alerts", says: `--sns is "alerts": use the ARN of a topic`},
	"--state":     {value: "s3://nosuch", says: `--state is "s3://nosuch": name a file`},
	"--since":     {value: "yesterday", says: "2h or 3d"},
	"--endpoint":  {value: "localhost", says: `--endpoint is "localhost": use a URL`},

	// Selections.
	"--kind":   {value: "nosuch", says: `--kind is "nosuch": the kinds are exhausted`},
	"--group":  {value: "first", says: `--group is "first": use the id of a group`},
	"--error":  {any: "it is a part of any text"},
	"--key":    {any: "order keys are any text"},
	"--type":   {any: "types are any text"},
	"--header": {value: "locale", says: `--header is "locale": write name=value`},
	"--body":   {value: ".a >", says: "--body"},

	"alerts --owner": {any: "an owner without channels is an alert"},

	"console --auth":            {value: "/nosuch", says: "--auth: open /nosuch"},
	"console --auth-proxy":      {value: "X-User", says: "--auth-proxy is set without --auth-proxy-from"},
	"console --auth-proxy-from": {value: "10.0.0.1", says: "--auth-proxy-from is set without --auth-proxy"},
	"console --data":            {value: "/dev/null/x", says: "--data: mkdir /dev/null"},
	"console --history":         {value: "/nosuch/x", says: "--history is /nosuch/x: /nosuch is no folder"},
	"console --host":            {value: "console.test", says: `--host is ["console.test"], and nobody signs in`},
	"console --level":           {value: "root", says: `--level is "root": use figures, bodies or act`},
	"console --listen":          {value: "8080", says: `--listen "8080" is not of the form host:port`},
	"console --mask":            {any: "fields of bodies have any name"},
	"console --mask-header":     {any: "headers have any name"},
	"console --name":            {any: "it is shown"},

	"demand --serve":     {value: "8081", says: `--serve "8081" is not of the form host:port`},
	"demo --console":     {value: "80", says: `--console is "80": use an address of this machine`},
	"demo --seed":        {value: "many", says: "--seed"},
	"describe --history": {value: "/nosuch/x", says: "--history: stat /nosuch/x: no such file"},
	"export --file":      {value: "/nosuch/x", says: "--file is /nosuch/x: /nosuch is no folder"},
	"health --file":      {any: "a process without its file does not live"},
	"health --url":       {value: "nonsense", says: "--url"},
	"import --file":      {value: "/nosuch", says: "--file: stat /nosuch: no such file"},

	"local --account":        {value: "12", says: `--account "12" is not twelve digits`},
	"local --addr":           {value: "4566", says: `--addr "4566" is not of the form host:port`},
	"local --allow-endpoint": {value: "a b", says: `--allow-endpoint: "a b" is neither`},
	"local --allow-host":     {value: "a b", says: `--allow-host has "a b"`},
	"local --allow-origin":   {value: "*", says: "--allow-origin has"},
	"local --console":        {value: "80", says: `--console is "80": use an address of this machine`},
	"local --data":           {value: "/dev/null/x", says: "--data: ", status: exitFailed},
	"local --error-rate":     {value: "often", says: `--error-rate "often"`},
	"local --init":           {value: "/nosuch", says: "--init /nosuch is not a folder"},
	"local --kafka":          {value: "a:b:c", says: "--kafka"},
	"local --kafka-data":     {value: "/dev/null/x", says: "--kafka-data"},
	"local --latency":        {value: "slow", says: `--latency "slow"`},
	"local --random-seed":    {value: "many", says: "--random-seed"},
	"local --region":         {value: "mars", says: `--region "mars" is not of the form us-east-1`},
	"local --seed":           {value: "/nosuch", says: "--seed: "},

	"ls --sort":             {value: "size", says: `--sort is "size": use name, waiting or age`},
	"mcp --data":            {value: "journals", says: "--data keeps the journals of requeues, which need --act"},
	"mcp --health":          {value: "nonsense", says: `--health is "nonsense": use an address`},
	"peek --groups":         {value: "words", says: "--groups"},
	"peek --id":             {value: "nosuch", says: "channel orders has no message nosuch", status: exitNothing},
	"plan --out":            {value: "/nosuch/x", says: "--out is /nosuch/x: /nosuch is no folder"},
	"requeue --edit":        {value: "amount(", says: "--edit"},
	"requeue --journal":     {value: "/nosuch/x", says: "--journal is /nosuch/x: /nosuch is no folder"},
	"requeue --to":          {value: "bills", says: "channel bills does not exist", status: exitNothing},
	"rewind --to":           {value: "yesterday", says: "--to"},
	"sweep --journal":       {value: "ftp://x", says: `--journal is "ftp://x"`},
	"console --traces":      {value: "nonsense", says: "--traces"},
	"sweep --owner":         {value: "nobody", says: "no channel has the tag owner=nobody", status: exitNothing},
	"sweep --undo":          {value: "/nosuch", says: "--undo: stat /nosuch"},
	"tail --id":             {value: "nosuch", says: "channel orders has no message nosuch", status: exitNothing},
	"tail --routing-prefix": {value: "A.", says: "--routing-prefix is for an exchange and its channels"},
	"orphans --prefix":      {value: "../x", says: `--prefix is "../x": use letters`},
	"top --history":         {value: "/nosuch/x", says: "--history is /nosuch/x: /nosuch is no folder"},

	"--decisions": {value: "A", says: `--decisions is "A": write it as s3://`},

	"run --exec":           {value: "/nosuch/x", says: `--exec: the command "/nosuch/x" cannot be run`},
	"run --worker":         {value: "/nosuch/x", says: "with one of --exec, --worker and --http"},
	"run --http":           {value: "nonsense", says: "with one of --exec, --worker and --http"},
	"run --http-secret":    {value: "/nosuch", says: "--http-secret signs requests: it needs --http"},
	"run --filter":         {value: "A", says: "--filter is for a channel of an exchange"},
	"run --filter-prefix":  {value: "A", says: "--filter-prefix is for a channel of an exchange"},
	"run --filter-exclude": {value: "A", says: "--filter-exclude is for a channel of an exchange"},
	"run --provision":      {value: "perhaps", says: `--provision is "perhaps": use auto, verify or never`},
	"run --rate":           {value: "fast", says: `--rate is "fast": use a number and a time`},
	"run --name":           {any: "it is shown"},
	"run --owner":          {any: "it is a tag"},
	"run --encryption-key": {any: "KMS says which keys there are"},

	"send --at":           {value: "tomorrow", says: `--at is "tomorrow": write a time`},
	"send --file":         {value: "/nosuch", says: "--file and --jsonl"},
	"send --jsonl":        {value: "/nosuch", says: "--file and --jsonl"},
	"send --key":          {value: "\x01", says: `order key "\x01" has characters that SQS does not accept`},
	"send --routing-key":  {value: "\x01", says: `routing key "\x01" has characters that SQS does not accept`},
	"send --type":         {value: "\x01", says: `type "\x01" has characters that SQS does not accept`},
	"send --content-type": {value: "\x01", says: `content type "\x01" has characters that SQS does not accept`},
	"send --dedup-id":     {value: "1", says: "--dedup-id"},

	"topology destroy --messages-of": {value: "bills", says: `--messages-of is "bills", and no such channel`},
	"topology destroy --untagged":    {value: "bills", says: `--untagged is "bills", and no such channel`},
	"topology export --as":           {value: "word", says: `--as is "word": use mermaid`},
	"topology import --name":         {value: "\x01", says: "name: ", status: exitFailed},
	"topology import --terraform":    {value: "/nosuch", says: "--terraform: open /nosuch"},
	"topology ls --prices":           {value: "/nosuch", says: "--prices: open /nosuch"},
}

// goName matches options by their names in Go.
var goName = regexp.MustCompile(`\b(\w+\.)?\w*Options\.[A-Z]`)

// Each flag of each command that takes a text refuses an empty one, and one that is wrong, by the flag's name and with
// the status for it, before anything is started.
func TestWrongTexts(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("godwit.yaml", []byte("channels:\n  orders: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	besides := map[string]string{
		"send": "orders x", "run": "orders --exec true", "peek": "orders", "tail": "orders",
		"requeue": "orders@dlq", "export": "orders --receive", "import": "orders --file /dev/null", "purge": "orders",
		"pause": "orders", "resume": "orders", "rewind": "orders --to start", "rm": "orders", "describe": "orders",
		"later ls": "orders", "later cancel": "orders orders.0.0.0", "later now": "orders orders.later/0/0", "health": "--url http://127.0.0.1:1", "orphans": "--bucket bodies", "alerts": "--once",
		"local": "--addr 127.0.0.1:0 --console off", "demo": "--messages 1 --console off",
		"console": "--listen 127.0.0.1:0", "plan": "godwit.yaml", "apply": "godwit.yaml",
		"topology destroy": "godwit.yaml", "topology adopt": "godwit.yaml",
		"topology export": "godwit.yaml --as iam", "topology import": "--name shop",
	}
	numbers := []string{"int", "int32Slice", "float64", "duration", "bool"} // TestWrongNumbers has them
	seen := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, below := range c.Commands() {
			walk(below)
		}
		path := strings.Fields(c.CommandPath())[1:]
		name := strings.Join(path, " ")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(numbers, f.Value.Type()) {
				return
			}
			key := name + " --" + f.Name
			row, ok := wrongTexts[key]
			if !ok {
				key = "--" + f.Name
				row, ok = wrongTexts[key]
			}
			if !ok {
				t.Errorf("godwit %s --%s has no row: what does it say to a wrong value?", name, f.Name)
				return
			}
			seen[key] = true
			for _, one := range []wrongText{{says: "--" + f.Name}, row} {
				if one.any != "" {
					continue
				}
				args := slices.Concat(path, strings.Fields(besides[name]), []string{"--" + f.Name + "=" + one.value})
				var out, errOut strings.Builder
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second) // it must not be reached
				got := run(ctx, args, &out, &errOut)
				stop()
				if got != cmp.Or(one.status, exitUsage) || !strings.Contains(errOut.String(), one.says) ||
					goName.MatchString(errOut.String()) {
					t.Errorf("godwit %q: status %d, %s%s; want %q", args, got, &out, &errOut, one.says)
				}
			}
		})
	}
	walk(newRoot())
	for key := range wrongTexts {
		if !seen[key] {
			t.Errorf("the row %s is of no flag", key)
		}
	}
}
