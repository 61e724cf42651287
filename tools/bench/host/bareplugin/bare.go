// Package bareplugin is a go-plugin process with one unary method and nothing
// else: both its sides, for the host's calls to be measured against.
package bareplugin

import (
	"context"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE", MagicCookieValue: "bare"}

const method = "/bare.Bare/Echo"

// Echo is the client's side.
type Echo func(ctx context.Context, data []byte) ([]byte, error)

type bare struct{ plugin.NetRPCUnsupportedPlugin }

func (bare) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bare.Bare",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			return in, decode(in)
		}}},
	}, struct{}{})
	return nil
}

func (bare) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return Echo(func(ctx context.Context, data []byte) ([]byte, error) {
		out := new(wrapperspb.BytesValue)
		err := c.Invoke(ctx, method, wrapperspb.Bytes(data), out)
		return out.GetValue(), err
	}), nil
}

// Serve is the plugin's side; it returns when the client has ended it.
func Serve() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{"bare": bare{}},
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(o, grpc.MaxRecvMsgSize(17<<20))...)
		},
		Logger: hclog.NewNullLogger(),
	})
}

// Start runs cmd, which must call Serve, and gives its method.
func Start(cmd *exec.Cmd) (Echo, func(), error) {
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{"bare": bare{}}, Cmd: cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	rpc, err := c.Client()
	if err != nil {
		c.Kill()
		return nil, nil, err
	}
	raw, err := rpc.Dispense("bare")
	if err != nil {
		c.Kill()
		return nil, nil, err
	}
	return raw.(Echo), c.Kill, nil
}
