package sns

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // signature version 1 is SHA1withRSA by definition
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

// signer signs envelopes. Its key is created for the first signature, so that a server without signatures starts at
// once. The zero value is usable.
type signer struct {
	once        sync.Once
	key         *rsa.PrivateKey
	certificate []byte // PEM
	path        string
}

// keyBits is small on purpose: the key protects nothing, lives as long as the process, and must not delay the first
// publish. Every verifier accepts it.
const keyBits = 1024

// sign returns the signature over fields, which alternate between names and values.
func (s *signer) sign(version string, fields []string) string {
	s.once.Do(s.prepare)
	text := []byte(strings.Join(fields, "\n") + "\n")
	hash, digest := crypto.SHA1, []byte(nil)
	if version == "2" {
		sum := sha256.Sum256(text)
		hash, digest = crypto.SHA256, sum[:]
	} else {
		sum := sha1.Sum(text)
		digest = sum[:]
	}
	signature, err := rsa.SignPKCS1v15(nil, s.key, hash, digest)
	if err != nil {
		panic("sns: signing with the generated key failed: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// certificatePath returns the path of the certificate on the server.
func (s *signer) certificatePath() string {
	s.once.Do(s.prepare)
	return s.path
}

func (s *signer) prepare() {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		panic("sns: generating the RSA key failed: " + err.Error())
	}
	// Valid at any time of the clock, which can be advanced; virtual time begins in 2000.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "sns.amazonaws.com"},
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic("sns: creating the certificate failed: " + err.Error())
	}
	sum := sha256.Sum256(der)
	s.key = key
	s.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	s.path = CertificatePrefix + hex.EncodeToString(sum[:16]) + ".pem"
}

// CertificatePrefix is the beginning of the path of a signing certificate.
const CertificatePrefix = "/SimpleNotificationService-"

// ServeCertificate answers GET requests for the signing certificate, and other paths with 404.
func (c *Carrier) ServeCertificate(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != c.signer.certificatePath() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/x-pem-file")
	_, _ = w.Write(c.signer.certificate) // an error means that the client has disconnected
}
