//go:build synctests

package acceptance

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// cluster is three real brokers, each in a rack of its own, with the same three listeners. Topics need two replicas in
// sync.
type cluster struct {
	t       *testing.T
	command string
	dir     string
	plain   []string // addresses without encryption, by broker
	tls     []string // for clients with a certificate
	sasl    []string // with TLS, for clients with credentials

	authorities *x509.CertPool
	client      tls.Certificate
	signer      *rsa.PrivateKey // of tokens
}

// startCluster starts the brokers. All certificates and keys are made here.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, command: os.Getenv(realCluster), dir: t.TempDir()}
	if c.command == "" {
		t.Skip(realCluster + " is not set: it is the command that starts three brokers, as in .ci/kafka")
	}
	c.certify()
	t.Cleanup(func() {
		for n := range c.plain {
			c.run("kill", n+1)
		}
	})
	for line := range strings.Lines(c.run("cluster", 0)) {
		at := strings.Fields(line)
		c.plain, c.tls, c.sasl = append(c.plain, at[0]), append(c.tls, at[1]), append(c.sasl, at[2])
	}
	return c
}

// run runs a command for a node, or for all (0).
func (c *cluster) run(command string, node int) string {
	c.t.Helper()
	dir := c.dir
	if node > 0 {
		dir = filepath.Join(dir, strconv.Itoa(node))
	}
	cmd := exec.Command(c.command, command, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", c.command, command, err, out)
	}
	return string(out)
}

// certify makes an authority, the certificates of the brokers and of a client, and the keys that brokers accept tokens
// of.
func (c *cluster) certify() {
	c.t.Helper()
	authority := c.certificate("authority", nil)
	c.authorities = x509.NewCertPool()
	c.authorities.AddCert(authority.Leaf)
	c.client = c.certificate("client", &authority)
	broker := c.certificate("broker", &authority)
	private, err := x509.MarshalPKCS8PrivateKey(broker.PrivateKey)
	c.must(err)
	c.signer, err = rsa.GenerateKey(rand.Reader, 2048)
	c.must(err)
	keys, err := json.Marshal(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "test", "alg": "RS256", "use": "sig",
		"n": base64.RawURLEncoding.EncodeToString(c.signer.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(c.signer.E)).Bytes()),
	}}})
	c.must(err)
	c.must(os.Mkdir(filepath.Join(c.dir, "tls"), 0o700))
	for name, content := range map[string][]byte{
		"broker.pem": append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: broker.Leaf.Raw})...),
		"ca.pem":    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Leaf.Raw}),
		"jwks.json": keys,
	} {
		c.must(os.WriteFile(filepath.Join(c.dir, "tls", name), content, 0o600))
	}
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// certificate makes a certificate for an hour, which is valid for 127.0.0.1; nil: of an authority that signs itself.
func (c *cluster) certificate(name string, by *tls.Certificate) tls.Certificate {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.must(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	c.must(err)
	what := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := what, crypto.PrivateKey(key)
	if by == nil {
		what.IsCA, what.BasicConstraintsValid = true, true
		what.KeyUsage, what.ExtKeyUsage = x509.KeyUsageCertSign, nil
	} else {
		parent, signer = by.Leaf, by.PrivateKey
	}
	raw, err := x509.CreateCertificate(rand.Reader, what, parent, key.Public(), signer)
	c.must(err)
	leaf, err := x509.ParseCertificate(raw)
	c.must(err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

// token makes a signed token (JWT) for a user.
func (c *cluster) token(user string, valid time.Duration) (string, error) {
	part := func(v any) string {
		text, _ := json.Marshal(v) // of strings and numbers
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(map[string]string{"alg": "RS256", "kid": "test", "typ": "JWT"}) + "." + part(map[string]any{
		"sub": user, "aud": "godwit", "iss": "https://issuer.example",
		"iat": time.Now().Unix(), "exp": time.Now().Add(valid).Unix(),
	})
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, c.signer, crypto.SHA256, sum[:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// world returns a world with a namespace of its own, whose clients use no encryption.
func (c *cluster) world(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, nil, []kgo.Opt{kgo.SeedBrokers(c.plain...)})
	w.replicas = 3
	return w
}

// users creates the users with SCRAM. The user with PLAIN is in the brokers' configuration.
func (c *cluster) users(w *world, user, password string) {
	w.t.Helper()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		done, err := w.admin.AlterUserSCRAMs(w.t.Context(), nil, []kadm.UpsertSCRAM{
			{User: user, Mechanism: mechanism, Iterations: 4096, Password: password},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if err := done.Error(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// partitions describes all partitions of the world's topics.
func (w *world) partitions() (all []kadm.PartitionDetail) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	topics, err := w.admin.ListTopics(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for name, t := range topics {
		if strings.HasPrefix(name, w.ns+".") {
			all = append(all, t.Partitions.Sorted()...)
		}
	}
	return all
}

// lose kills a broker (-9), and waits until its partitions have other leaders and two replicas in sync. It returns the
// number of leaders that have moved.
func (c *cluster) lose(w *world, node int) (moved int) {
	w.t.Helper()
	for _, p := range w.partitions() {
		if p.Leader == int32(node) {
			moved++
		}
	}
	c.run("kill", node)
	w.eventually(time.Minute, fmt.Sprintf("no partition needs broker %d", node), func() bool {
		for _, p := range w.partitions() {
			if p.Leader == int32(node) || p.Leader < 0 || len(p.ISR) != 2 {
				return false
			}
		}
		return true
	})
	return moved
}

// restore starts a lost broker, waits until all replicas are in sync, and moves its leaders back to it.
func (c *cluster) restore(w *world, node int) {
	w.t.Helper()
	c.run("start", node)
	w.eventually(time.Minute, "all replicas are in sync", func() bool {
		for _, p := range w.partitions() {
			if len(p.ISR) != 3 {
				return false
			}
		}
		return true
	})
	if _, err := w.admin.ElectLeaders(w.t.Context(), kadm.ElectPreferredReplica, nil); err != nil {
		w.t.Fatal(err)
	}
}
