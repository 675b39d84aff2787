package rpc

// HandlerOf is the handler that the client has for a port.
func (c *Client) HandlerOf(port int) string {
	handler, _ := c.handler(port)
	return handler
}
