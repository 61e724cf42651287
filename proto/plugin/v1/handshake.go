package pluginv1

// What host and plugin must agree on before they can speak gRPC. Plugins in
// other languages write the same values.
//
// The handshake is one line on the plugin's standard output:
//
//	1|<protocol version>|unix|<socket path>|grpc
//
// where the socket lies in the folder that $PLUGIN_UNIX_SOCKET_DIR names.
const (
	// MagicCookieKey is the environment variable by which a plugin notices
	// that a host started it, not a person.
	MagicCookieKey = "VANT_PLUGIN"
	// MagicCookieValue is its value.
	MagicCookieValue = "b3b1d9f2-vant-plugin-v1"
	// ProtocolVersion is the version of this contract. The host sends the
	// versions that it speaks in $PLUGIN_PROTOCOL_VERSIONS, comma-separated.
	ProtocolVersion = 1
	// HealthService is the service name that a plugin reports SERVING for in
	// the standard gRPC health service.
	HealthService = "plugin"
)
