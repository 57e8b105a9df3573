package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inContexts writes a godwit.yaml whose contexts are on the world's server and elsewhere. The environment names neither
// AWS nor Kafka.
func inContexts(t *testing.T) {
	t.Helper()
	onServer(t)
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	file := filepath.Join(t.TempDir(), "godwit.yaml")
	if err := os.WriteFile(file, []byte(`contexts:
  here: {backend: local, endpoint: "`+endpoint+`", namespace: dev}
  prod: {backend: local, endpoint: "`+endpoint+`", namespace: prod, protected: true}
  far: {backend: kafka, brokers: ["kafka.example.com:9093"], security: SASL_SSL, mechanism: PLAIN, user: ada,
    password_from: FAR_PASSWORD}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODWIT_CONFIG", file)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{
		"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "GODWIT_BACKEND", "GODWIT_CONTEXT", "KAFKA_BOOTSTRAP_SERVERS",
		"KAFKA_SECURITY_PROTOCOL", "KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD",
		"KAFKA_SSL_CA_LOCATION", "KAFKA_SSL_CERTIFICATE_LOCATION", "KAFKA_SSL_KEY_LOCATION",
		"FAR_PASSWORD",
	} {
		t.Setenv(name, "") // restored at the end, whatever the command sets
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

func unset(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// said fails unless a call has this status and says all of some parts.
func said(t *testing.T, want int, parts []string, args ...string) {
	t.Helper()
	out, errOut, status := call(t, args...)
	if status != want {
		t.Errorf("%v: status %d, want %d: %s", args, status, want, errOut)
	}
	for _, part := range parts {
		if !strings.Contains(out+errOut, part) {
			t.Errorf("%v: %q is missing:\n%s%s", args, part, out, errOut)
		}
	}
}

// A command uses the context of its flag, of the environment, or the one that was chosen; flags and the environment go
// before a choice.
func TestContexts(t *testing.T) {
	inContexts(t)
	said(t, exitDone, []string{"here", "prod", "yes", "Kafka at kafka.example.com:9093"}, "context", "ls")
	said(t, exitUsage, []string{"neither AWS nor Kafka"}, "ls")
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte("namespace: dev\nchannels: {orders: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said(t, exitDone, nil, "apply", file, "--yes", "--context", "here")
	unset(t, "AWS_ENDPOINT_URL")
	said(t, exitDone, []string{"orders"}, "ls", "--context", "here")
	unset(t, "AWS_ENDPOINT_URL", "AWS_REGION")
	said(t, exitDone, nil, "context", "use", "here")
	said(t, exitDone, []string{"*  here"}, "context", "ls")
	said(t, exitDone, []string{"orders"}, "ls")
	said(t, exitDone, []string{`"backend": "local"`, `"namespace": "dev"`}, "context", "show", "-o", "json")
	t.Setenv("GODWIT_CONTEXT", "prod")
	said(t, exitNothing, []string{"there are no channels"}, "ls")
	said(t, exitUsage, []string{"prod is protected", "add --context prod"}, "send", "orders", "{}")
	said(t, exitUsage, []string{"prod is protected"}, "purge", "orders", "--yes")
	said(t, exitNothing, nil, "purge", "orders", "--yes", "--context", "prod")
	said(t, exitUsage, []string{"--backend has no effect beside the context prod"}, "ls", "--backend", "aws")
	said(t, exitDone, []string{`"user": "ada"`, `"password_from": "FAR_PASSWORD"`}, "context", "show", "far", "-o",
		"json")
	said(t, exitDone, []string{"SETTING", "user", "ada", "password_from", "FAR_PASSWORD"}, "context", "show", "far")
	said(t, exitUsage, []string{"the variable FAR_PASSWORD, which has the password, is not set"}, "ls", "--context", "far")
	said(t, exitUsage, []string{`has no context "nosuch"; there are far, here, prod`}, "ls", "--context", "nosuch")
	said(t, exitUsage, []string{`has no context "nosuch"`}, "context", "use", "nosuch")
	said(t, exitUsage, []string{"name a context, or --none"}, "context", "use")
	said(t, exitDone, nil, "context", "use", "--none")
}

// Mistakes in the file are told with their places, all at once.
func TestContextsWithMistakes(t *testing.T) {
	inContexts(t)
	if err := os.WriteFile(os.Getenv("GODWIT_CONFIG"), []byte(`contexts:
  a: {bakend: aws}
  b: {backend: kafka, region: eu-west-1}
  c: {backend: kafka, brokers: [nowhere], security: SASL_SSL}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	said(t, exitUsage, []string{
		"godwit.yaml:2:7: contexts.a.bakend: there is no such key (perhaps backend?)", "contexts.b.region: it has no effect",
		"contexts.b: brokers is missing", `contexts.c.brokers: "nowhere" is not of the form host:port`,
		"contexts.c: mechanism is missing, and security is SASL_SSL",
	}, "ls", "--context", "a")
	if err := os.Remove(os.Getenv("GODWIT_CONFIG")); err != nil {
		t.Fatal(err)
	}
	said(t, exitUsage, []string{"no such file"}, "ls", "--context", "a")
}
