package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
)

// The connection that [Open] uses if Options.Brokers is empty. Options.TLS and Options.SASL replace what the variables
// say about them.
const (
	brokersVariable  = "KAFKA_BOOTSTRAP_SERVERS"
	securityVariable = "KAFKA_SECURITY_PROTOCOL"
	saslVariable     = "KAFKA_SASL_MECHANISM"
	userVariable     = "KAFKA_SASL_USERNAME"
	passwordVariable = "KAFKA_SASL_PASSWORD"
	caVariable       = "KAFKA_SSL_CA_LOCATION"
	certVariable     = "KAFKA_SSL_CERTIFICATE_LOCATION"
	keyVariable      = "KAFKA_SSL_KEY_LOCATION"
)

// fromEnvironment returns the options with the brokers of the environment, and how to connect to them.
func (o Options) fromEnvironment() (Options, error) {
	if len(o.Brokers) > 0 {
		return o, nil
	}
	var err error
	if o.Brokers, err = brokersOf(os.Getenv(brokersVariable)); err != nil {
		return o, err
	}
	encrypts, authenticates, err := securityOf(os.Getenv(securityVariable))
	if err != nil {
		return o, err
	}
	if err := unused(encrypts, authenticates); err != nil {
		return o, err
	}
	if o.TLS == nil && encrypts {
		if o.TLS, err = tlsOf(os.Getenv(caVariable), os.Getenv(certVariable), os.Getenv(keyVariable)); err != nil {
			return o, err
		}
	}
	if o.SASL == nil && authenticates {
		o.SASL, err = saslOf(os.Getenv(saslVariable), os.Getenv(userVariable), os.Getenv(passwordVariable))
	}
	return o, err
}

// brokersOf reads addresses that are separated by commas.
func brokersOf(value string) ([]string, error) {
	if value == "" {
		return []string{defaultBroker}, nil
	}
	brokers := strings.Split(value, ",")
	for i := range brokers {
		brokers[i] = strings.TrimSpace(brokers[i])
		if _, _, err := net.SplitHostPort(brokers[i]); err != nil {
			return nil, fmt.Errorf("kafka: %q in the environment variable %s is not of the form host:port; separate "+
				"several addresses by commas: %w", brokers[i], brokersVariable, err)
		}
	}
	return brokers, nil
}

// securityOf reads a security protocol, by Kafka's names.
func securityOf(value string) (encrypts, authenticates bool, err error) {
	switch strings.ToUpper(value) {
	case "", "PLAINTEXT":
		return false, false, nil
	case "SSL":
		return true, false, nil
	case "SASL_PLAINTEXT":
		return false, true, nil
	case "SASL_SSL":
		return true, true, nil
	}
	return false, false, fmt.Errorf("kafka: the environment variable %s is %q: use PLAINTEXT, SSL, SASL_PLAINTEXT or "+
		"SASL_SSL", securityVariable, value)
}

// unused returns an error for variables that have no effect with the security protocol: the brokers would only refuse
// the connection, without a reason.
func unused(encrypts, authenticates bool) error {
	for _, v := range []struct {
		name, needs string
		used        bool
	}{
		{saslVariable, "SASL_SSL or SASL_PLAINTEXT", authenticates},
		{caVariable, "SSL or SASL_SSL", encrypts},
		{certVariable, "SSL or SASL_SSL", encrypts},
	} {
		if !v.used && os.Getenv(v.name) != "" {
			return fmt.Errorf("kafka: the environment variable %s has no effect, because %s is %q: set that to %s, or remove "+
				"%s", v.name, securityVariable, os.Getenv(securityVariable), v.needs, v.name)
		}
	}
	return nil
}

// tlsOf reads the files (PEM) for encrypted connections; "": the authorities of the system, and no certificate.
func tlsOf(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("kafka: read the file of the environment variable %s: %w", caVariable, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("kafka: %s, in the environment variable %s, has no certificate in PEM", ca, caVariable)
		}
	}
	if (cert == "") != (key == "") {
		return nil, fmt.Errorf("kafka: one of the environment variables %s and %s is set without the other: set both, or "+
			"none", certVariable, keyVariable)
	}
	if cert != "" {
		own, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("kafka: read the files of the environment variables %s and %s: %w", certVariable,
				keyVariable, err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

// saslOf are the credentials for a mechanism. A token of OAUTHBEARER expires, so no variable can have it.
func saslOf(mechanism, user, password string) (*SASL, error) {
	switch mechanism {
	case "":
		return nil, fmt.Errorf("kafka: the environment variable %s asks for SASL, and %s is missing: set it to PLAIN, "+
			"SCRAM-SHA-256, SCRAM-SHA-512 or AWS_MSK_IAM", securityVariable, saslVariable)
	case mechanismBearer:
		return nil, fmt.Errorf("kafka: the environment variable %s is %s, whose tokens only a program can renew: set "+
			"kafka.Options.SASL with a Token, or use another mechanism", saslVariable, mechanism)
	case mechanismAWS:
	default:
		if user == "" || password == "" {
			return nil, fmt.Errorf("kafka: the environment variable %s is %s, and %s or %s is missing: set both",
				saslVariable, mechanism, userVariable, passwordVariable)
		}
	}
	return &SASL{Mechanism: mechanism, User: user, Password: password}, nil
}
