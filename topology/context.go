package topology

import (
	"net"
	"net/url"
)

// Context is a connection of the command godwit. A setting that is not there comes from the environment. No setting is
// a secret: credentials are in the profile, in a file, or in a variable.
type Context struct {
	// Backend is what carries the messages. It is required.
	Backend string `yaml:"backend" doc:"What carries the messages; local is a server of godwit local." enum:"aws,kafka,local"`
	// Namespace begins the names of all resources. Set it as the programs' backend options do.
	Namespace string `yaml:"namespace" doc:"The namespace of the channels."`
	// Names is a file with the names of existing resources. Set it where channels are mapped.
	Names string `yaml:"names" doc:"The file with the names of existing resources, as for --names."`
	// Payloads is the store of large messages. Set it when programs use one.
	Payloads Payloads `yaml:"payloads" doc:"The store of the bodies of large messages."`
	// Protected asks for the context by its flag before anything is changed. Set it for production.
	Protected bool `yaml:"protected" doc:"What changes something needs --context with the name."`

	// Region is AWS's. Set it where the profile has none.
	Region string `yaml:"region" doc:"The region of AWS."`
	// Profile has the credentials. Set it when the default profile is another account's.
	Profile string `yaml:"profile" doc:"The profile of AWS that has the credentials."`
	// Endpoint is the URL of AWS, or of godwit local. Set it for emulators and private endpoints.
	Endpoint string `yaml:"endpoint" doc:"The URL that replaces AWS's; of local, http://127.0.0.1:4566 without it."`

	// Brokers are Kafka's addresses. Set them for backend kafka.
	Brokers []string `yaml:"brokers" doc:"The addresses of Kafka's brokers, host:port."`
	// Security is how to connect to the brokers; "": in plain text. Set it as the brokers demand.
	Security string `yaml:"security" doc:"How to connect to the brokers." enum:"PLAINTEXT,SSL,SASL_PLAINTEXT,SASL_SSL"`
	// CA, Certificate and Key are files of TLS. Set them where the system's authorities do not do.
	CA          string `yaml:"ca" doc:"The file of the authorities that the brokers' certificates are from."`
	Certificate string `yaml:"certificate" doc:"The file of the client's certificate."`
	Key         string `yaml:"key" doc:"The file of the client's key."`
	// Mechanism, User and PasswordFrom are of SASL. Set them with a security of SASL.
	Mechanism    string `yaml:"mechanism" doc:"The mechanism of SASL, such as SCRAM-SHA-512."`
	User         string `yaml:"user" doc:"The name of the user of SASL."`
	PasswordFrom string `yaml:"password_from" doc:"The variable, or the file with a slash in its path, that has the password."`
}

// context checks a connection.
func (c *checker) context(path string, x *Context) {
	const aws, kafka, local = "aws", "kafka", "local"
	switch x.Backend {
	case aws, kafka, local:
	case "":
		c.add(path, "backend is missing: it is aws, kafka or local")
		return
	default:
		c.add(path+".backend", "there is no backend %q: it is aws, kafka or local", x.Backend)
		return
	}
	for key, set := range map[string]bool{
		"region": x.Region != "", "profile": x.Profile != "", "endpoint": x.Endpoint != "",
	} {
		if set && x.Backend == kafka {
			c.add(path+"."+key, "it has no effect on Kafka: remove it")
		}
	}
	for key, set := range map[string]bool{
		"brokers": len(x.Brokers) > 0, "security": x.Security != "",
		"ca": x.CA != "", "certificate": x.Certificate != "", "key": x.Key != "",
		"mechanism": x.Mechanism != "", "user": x.User != "", "password_from": x.PasswordFrom != "",
	} {
		if set && x.Backend != kafka {
			c.add(path+"."+key, "it has no effect on AWS: remove it")
		}
	}
	if x.Backend == kafka && len(x.Brokers) == 0 {
		c.add(path, "brokers is missing: a list of host:port")
	}
	for _, broker := range x.Brokers {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			c.add(path+".brokers", "%q is not of the form host:port", broker)
		}
	}
	if u, err := url.Parse(x.Endpoint); x.Endpoint != "" && (err != nil || u.Scheme == "" || u.Host == "") {
		c.add(path+".endpoint", "%q is no URL, such as http://127.0.0.1:4566", x.Endpoint)
	}
	c.security(path, x)
}

func (c *checker) security(path string, x *Context) {
	encrypts, authenticates := false, false
	switch x.Security {
	case "", "PLAINTEXT":
	case "SSL":
		encrypts = true
	case "SASL_PLAINTEXT":
		authenticates = true
	case "SASL_SSL":
		encrypts, authenticates = true, true
	default:
		c.add(path+".security", "there is no %q: it is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", x.Security)
		return
	}
	for key, value := range map[string]string{"ca": x.CA, "certificate": x.Certificate, "key": x.Key} {
		if value != "" && !encrypts {
			c.add(path+"."+key, "it has no effect without security SSL or SASL_SSL")
		}
	}
	for key, value := range map[string]string{
		"mechanism": x.Mechanism, "user": x.User, "password_from": x.PasswordFrom,
	} {
		switch {
		case value != "" && !authenticates:
			c.add(path+"."+key, "it has no effect without security SASL_SSL or SASL_PLAINTEXT")
		case value == "" && authenticates:
			c.add(path, "%s is missing, and security is %s", key, x.Security)
		}
	}
	if (x.Certificate == "") != (x.Key == "") {
		c.add(path, "one of certificate and key is there without the other")
	}
}
