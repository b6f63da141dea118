package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificates FOLDER ADDRESS... writes what a control plane proves itself with:
//
//	ca.crt                   signs the next; what clients trust
//	server.crt, server.key   of every part that serves at one of the addresses
//	accounts.key             signs the tokens of service accounts
//
// Kubernetes would make certificates of its own for each part, with RSA keys,
// which takes a good part of the time that a control plane needs to start, and
// openssl would be one more program that a machine must have.
func certificates() int {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: control-plane certificates FOLDER ADDRESS...")
		return 2
	}
	if err := writeCertificates(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "certificates:", err)
		return 1
	}
	return 0
}

func writeCertificates(folder string, addresses []string) error {
	keys := make([]*ecdsa.PrivateKey, 3)
	for i := range keys {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return err
		}
		keys[i] = key
	}
	caKey, serverKey, accountsKey := keys[0], keys[1], keys[2]
	ca := template("control plane of a test")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	server := template("localhost")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	for _, address := range addresses {
		server.IPAddresses = append(server.IPAddresses, net.ParseIP(address))
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	serverDER, err := x509.CreateCertificate(rand.Reader, server, ca, &serverKey.PublicKey, caKey)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(folder, "ca.crt"), "CERTIFICATE", caDER); err != nil {
		return err
	}
	if err := writePEM(filepath.Join(folder, "server.crt"), "CERTIFICATE", serverDER); err != nil {
		return err
	}
	if err := writeKey(filepath.Join(folder, "server.key"), serverKey); err != nil {
		return err
	}
	return writeKey(filepath.Join(folder, "accounts.key"), accountsKey)
}

// template is a certificate of a year, which no control plane of a test outlives.
// It begins an hour ago, so that nobody's clock takes it for one of the future.
func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
	}
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	block := &pem.Block{Type: kind, Bytes: der}
	return os.WriteFile(file, pem.EncodeToMemory(block), 0o600)
}
