package connection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/topology"
)

// The file with the contexts, and the variables that name another file and a context.
const (
	DefaultFile     = "godwit.yaml"
	FileVariable    = "GODWIT_CONFIG"
	ContextVariable = "GODWIT_CONTEXT"
	// localEndpoint is the address of `godwit local` without options.
	localEndpoint = "http://127.0.0.1:4566"
)

// Context is a chosen context.
type Context struct {
	Name string
	File string
	// Named: a flag or a variable has named it. Otherwise, it was chosen for its file before.
	Named bool
	topology.Context
}

// File returns the file with the contexts.
func File() string { return cmp.Or(os.Getenv(FileVariable), DefaultFile) }

// All returns the contexts of a file. A missing file has none, unless a variable names it.
func All(file string) (map[string]topology.Context, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv(FileVariable) == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	spec, err := topology.Read(file, text)
	if err != nil {
		return nil, err
	}
	return spec.Contexts, nil
}

// Choose returns the context that a flag names, or else the environment, or that was chosen for the file; nil: none.
func Choose(flag string) (*Context, error) {
	c := &Context{Name: cmp.Or(flag, os.Getenv(ContextVariable)), File: File(), Named: true}
	if c.Name == "" {
		c.Named = false
		var err error
		if c.Name, err = Current(c.File); err != nil || c.Name == "" {
			return nil, err
		}
	}
	all, err := All(c.File)
	if err != nil {
		return nil, err
	}
	one, there := all[c.Name]
	if !there {
		return nil, c.missing(all)
	}
	c.Context = one
	return c, nil
}

// missing is the error for a context that does not exist.
func (c *Context) missing(all map[string]topology.Context) error {
	switch {
	case len(all) == 0:
		return fmt.Errorf("there is no context %q, because %s has no contexts, or is not here: `godwit context --help` says "+
			"what they are, and %s names another file", c.Name, c.File, FileVariable)
	case !c.Named:
		return fmt.Errorf("the context %q was chosen for %s, which has it no more: choose one of %s with `godwit context use`",
			c.Name, c.File, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return fmt.Errorf("%s has no context %q; there are %s", c.File, c.Name,
		strings.Join(slices.Sorted(maps.Keys(all)), ", "))
}

// OnKafka reports whether Kafka carries the messages.
func (c *Context) OnKafka() bool { return c.Backend == "kafka" }

// endpoint is the URL that replaces AWS's; "": none.
func (c *Context) endpoint() string {
	if c.Backend == "local" {
		return cmp.Or(c.Endpoint, localEndpoint)
	}
	return c.Endpoint
}

// Local reports whether the service is on this machine.
func (c *Context) Local() bool {
	hosts := []string{c.endpoint()}
	if c.OnKafka() {
		hosts = c.Brokers
	}
	for _, host := range hosts {
		if u, err := url.Parse(host); err == nil && u.Host != "" {
			host = u.Host
		}
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		}
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// String names the context and what it talks to.
func (c *Context) String() string { return "context " + c.Name + " of " + c.File + ": " + c.Target() }

// Target says what the context talks to, without a secret.
func (c *Context) Target() string {
	parts := []string{"AWS"}
	if c.OnKafka() {
		parts[0] = "Kafka at " + strings.Join(c.Brokers, ",")
	}
	for _, p := range []struct{ name, value string }{
		{"region", c.Region}, {"profile", c.Profile}, {"endpoint", c.endpoint()}, {"namespace", c.Namespace},
	} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	return strings.Join(parts, " ")
}

// Settings are the keys that the context has, by their names in the file.
func (c *Context) Settings() map[string]any { return settings(reflect.ValueOf(c.Context)) }

func settings(v reflect.Value) map[string]any {
	all := map[string]any{}
	for i := range v.NumField() {
		name, one := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		switch {
		case one.IsZero():
		case one.Kind() == reflect.Struct:
			all[name] = settings(one)
		default:
			all[name] = one.Interface()
		}
	}
	return all
}

// Variables are the variables that clients read. An empty value means that the variable must not be set.
func (c *Context) Variables() (map[string]string, error) {
	if !c.OnKafka() {
		v := map[string]string{"KAFKA_BOOTSTRAP_SERVERS": ""}
		endpoint := c.endpoint()
		for name, value := range map[string]string{
			"AWS_REGION": c.Region, "AWS_DEFAULT_REGION": c.Region, "AWS_PROFILE": c.Profile,
			"AWS_ENDPOINT_URL": endpoint,
		} {
			if value != "" {
				v[name] = value
			}
		}
		if c.Backend == "local" { // any credentials do
			v["AWS_REGION"] = cmp.Or(c.Region, "us-east-1")
			v["AWS_ACCESS_KEY_ID"], v["AWS_SECRET_ACCESS_KEY"], v["AWS_PROFILE"] = "local", "local", ""
		} else if endpoint == "" {
			v["AWS_ENDPOINT_URL"] = "" // a server on this machine would take the calls
		}
		return v, nil
	}
	v := map[string]string{
		"KAFKA_BOOTSTRAP_SERVERS": strings.Join(c.Brokers, ","), "KAFKA_SECURITY_PROTOCOL": c.Security,
		"KAFKA_SSL_CA_LOCATION": c.CA, "KAFKA_SSL_CERTIFICATE_LOCATION": c.Certificate, "KAFKA_SSL_KEY_LOCATION": c.Key,
		"KAFKA_SASL_MECHANISM": c.Mechanism, "KAFKA_SASL_USERNAME": c.User, "KAFKA_SASL_PASSWORD": "",
	}
	if c.PasswordFrom == "" {
		return v, nil
	}
	password, err := c.password()
	v["KAFKA_SASL_PASSWORD"] = password
	return v, err
}

func (c *Context) password() (string, error) {
	from := c.PasswordFrom
	if !strings.ContainsRune(from, '/') {
		password, set := os.LookupEnv(from)
		if !set {
			return "", fmt.Errorf("context %s: the variable %s, which has the password, is not set", c.Name, from)
		}
		return password, nil
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return "", fmt.Errorf("context %s: the file with the password: %w", c.Name, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// Set sets the variables of this process.
func (c *Context) Set() error {
	all, err := c.Variables()
	if err != nil {
		return err
	}
	for name, value := range all {
		if value == "" {
			err = os.Unsetenv(name)
		} else {
			err = os.Setenv(name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
