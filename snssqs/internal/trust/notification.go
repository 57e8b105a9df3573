package trust

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
)

// Notification is SNS's JSON for a message without raw delivery.
type Notification struct {
	Publication
	Type              string
	MessageID         string `json:"MessageId"`
	Message           string
	MessageAttributes map[string]struct{ Type, Value string }

	SignatureVersion, Signature string
	CertURL                     string `json:"SigningCertURL"`
}

// Publication is what SNS says about a message beside body and attributes.
type Publication struct {
	TopicArn  string
	Subject   *string // nil: it has none
	Timestamp string  // when SNS accepted it
}

// Parse reads a notification; false: the body has another form.
func Parse(body string) (Notification, bool) {
	if !strings.HasPrefix(body, "{") || !strings.Contains(body, `"TopicArn"`) {
		return Notification{}, false
	}
	var n Notification // not a result, which would be on the heap for every body
	ok := json.Unmarshal([]byte(body), &n) == nil && n.Type == "Notification" && n.TopicArn != "" && n.MessageID != ""
	return n, ok
}

// LooksWrapped reports whether a body without attributes would be taken for SNS's JSON by a channel that trusts its
// topic.
func LooksWrapped(body string) bool {
	_, is := Parse(body)
	return is
}

// signed is the text that SNS signs.
func (n *Notification) signed() string {
	fields := []string{"Message", n.Message, "MessageId", n.MessageID}
	if n.Subject != nil {
		fields = append(fields, "Subject", *n.Subject)
	}
	fields = append(fields, "Timestamp", n.Timestamp, "TopicArn", n.TopicArn, "Type", n.Type, "")
	return strings.Join(fields, "\n")
}

const (
	// certWithin bounds the request for a certificate, because a poll waits for it.
	certWithin = 5 * time.Second
	certBytes  = 64 << 10
	// maxCerts bounds the certificates that are kept. SNS has one for each region.
	maxCerts = 64
)

// snsHost is the hosts from which SNS serves its certificates.
var snsHost = regexp.MustCompile(`^sns\.[a-z]{2}(-[a-z]+)+-[0-9]+\.amazonaws\.com(\.cn)?$`)

// Signatures checks the signatures of messages in SNS's JSON.
type Signatures struct {
	client   *http.Client
	endpoint string // of a local SNS, which serves its certificate itself; "": it is AWS's

	mu     sync.Mutex
	keys   map[string]*rsa.PublicKey // by the address of the certificate
	unread string                    // the address of one that is needed, and could not be read; "": there is none
}

// NewSignatures reads certificates with an HTTP client. The endpoint is that of SNS; nil: AWS's.
func NewSignatures(client *http.Client, endpoint *string) *Signatures {
	s := &Signatures{client: client, keys: map[string]*rsa.PublicKey{}}
	if at := aws.ToString(endpoint); at != "" && !strings.Contains(at, ".amazonaws.com") {
		s.endpoint = strings.TrimSuffix(at, "/")
	}
	return s
}

// UncheckedError is the error of a message whose signature could not be checked now. The message is delivered again
// when its lease ends.
type UncheckedError struct{ err error }

func (e *UncheckedError) Error() string { return e.err.Error() }
func (e *UncheckedError) Unwrap() error { return &driver.Error{Class: driver.Transient, Err: e.err} }

// Check refuses a message whose signature is not that of SNS. A nil signatures checks nothing.
func (s *Signatures) Check(ctx context.Context, n *Notification) error {
	if s == nil {
		return nil
	}
	var sum []byte
	var hash crypto.Hash
	switch text := []byte(n.signed()); {
	case n.Signature == "":
		return errors.New("the message has none; SNS signs none of an ordered topic")
	case n.SignatureVersion == "1":
		digest := sha1.Sum(text)
		sum, hash = digest[:], crypto.SHA1
	case n.SignatureVersion == "2":
		digest := sha256.Sum256(text)
		sum, hash = digest[:], crypto.SHA256
	default:
		return fmt.Errorf("its version is %q, and only 1 and 2 are known", n.SignatureVersion)
	}
	signature, err := base64.StdEncoding.DecodeString(n.Signature)
	if err != nil {
		return fmt.Errorf("it is not base64: %w", err)
	}
	key, err := s.key(ctx, n.CertURL)
	if err != nil {
		return err
	}
	if rsa.VerifyPKCS1v15(key, hash, sum, signature) != nil {
		return errors.New("it does not fit the message: another program than SNS has written or changed it")
	}
	return nil
}

// Ready returns an error while a certificate that a message needed cannot be read. Polls wait for it: each would count
// as a receive of that message, until SQS moves it to the dead letters.
func (s *Signatures) Ready(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	address := s.unread
	s.mu.Unlock()
	if address == "" {
		return nil
	}
	_, err := s.key(ctx, address)
	if unchecked := new(UncheckedError); errors.As(err, &unchecked) {
		return err
	}
	return nil // it was read, or it is no certificate, which the message's next check says
}

// key returns the key in a certificate. Only SNS itself serves its certificates, so that the key is SNS's if the
// address is.
func (s *Signatures) key(ctx context.Context, told string) (*rsa.PublicKey, error) {
	address, err := s.address(told)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	key := s.keys[address]
	s.mu.Unlock()
	if key != nil {
		return key, nil
	}
	text, err := s.read(ctx, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if unchecked := new(UncheckedError); errors.As(err, &unchecked) {
		s.unread = address
		return nil, err
	}
	if s.unread == address {
		s.unread = ""
	}
	if err == nil {
		key, err = keyIn(text)
	}
	if err != nil {
		return nil, fmt.Errorf("its certificate %s: %w", address, err)
	}
	if len(s.keys) >= maxCerts {
		clear(s.keys)
	}
	s.keys[address] = key
	return key, nil
}

// keyIn returns the key in a certificate.
func keyIn(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("its key is not RSA")
	}
	return key, nil
}

// address returns where the certificate is read whose address a message has. A local SNS serves its own under every
// name of its host.
func (s *Signatures) address(told string) (string, error) {
	at, err := url.Parse(told)
	switch {
	case err == nil && s.endpoint != "":
		return s.endpoint + at.EscapedPath(), nil
	case err == nil && at.Scheme == "https" && snsHost.MatchString(at.Host) && at.User == nil &&
		strings.HasSuffix(at.Path, ".pem"):
		return told, nil
	}
	return "", fmt.Errorf("the address of its certificate, %q, is none of SNS", told)
}

// read reads a certificate. The error is an uncheckedError if reading it again may help.
func (s *Signatures) read(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, certWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := *s.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(req)
	if err != nil {
		return nil, &UncheckedError{fmt.Errorf("read its certificate: %w", err)}
	}
	defer func() { _ = answer.Body.Close() }() // it is read, or not wanted
	switch {
	case answer.StatusCode >= http.StatusInternalServerError, answer.StatusCode == http.StatusTooManyRequests:
		return nil, &UncheckedError{fmt.Errorf("read its certificate %s: %s", address, answer.Status)}
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it is not there: %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, certBytes))
	if err != nil {
		return nil, &UncheckedError{fmt.Errorf("read its certificate %s: %w", address, err)}
	}
	return text, nil
}
