package sdk

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/vant-run/vant/proto/plugin/v1"
)

const (
	// window lets a message of the usual sizes go without waiting for a window
	// update; it is a limit, not an allocation.
	window = 1 << 20
	// bufferSize is one read or write; beyond it memory grows and speed does not.
	bufferSize = 32 << 10
)

// newGRPC makes the server that the host speaks to: our service, the standard
// health service, and the one of go-plugin's services that a host needs. Its
// others (broker, standard output as a stream) are for what this contract does
// with Link and with standard error; hosts do without them.
func newGRPC(s *server, shutdown chan<- struct{}) *grpc.Server {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(pluginv1.MaxMessage),
		grpc.MaxSendMsgSize(pluginv1.MaxMessage),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(2*window),
		grpc.ReadBufferSize(bufferSize),
		grpc.WriteBufferSize(bufferSize),
	)
	pluginv1.RegisterPluginServer(g, s)
	h := health.NewServer()
	h.SetServingStatus(pluginv1.HealthService, healthv1.HealthCheckResponse_SERVING)
	healthv1.RegisterHealthServer(g, h)
	g.RegisterService(&controller, shutdowner(shutdown))
	return g
}

type shutdowner chan<- struct{}

// controller is go-plugin's service by which a client asks for the process's
// end. Its messages are empty.
var controller = grpc.ServiceDesc{
	ServiceName: "plugin.GRPCController",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Shutdown",
		Handler: func(srv any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			if err := read(&emptypb.Empty{}); err != nil {
				return nil, err
			}
			select {
			case srv.(shutdowner) <- struct{}{}:
			default: // asked already
			}
			return &emptypb.Empty{}, nil
		},
	}},
}
