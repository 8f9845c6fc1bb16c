import MartletCore
import NIOCore

/// The body of a request to a hook.
struct HookMessage: Sendable {
    private let hook: Hook
    private let identity: Identity

    init(_ hook: Hook, _ identity: Identity) {
        self.hook = hook
        self.identity = identity
    }

    /// - Parameter members: Additional members in order, as JSON text; nil for null.
    func body(with members: [(name: String, json: String?)]) -> ByteBuffer {
        var body = ByteBuffer()
        body.writeString("{\"event\":\"\(hook.event.rawValue)\",\"hook\":\(JSONValue.quote(hook.name))")
        if let collection = hook.collection { body.writeString(",\"collection\":\(JSONValue.quote(collection))") }
        for (name, json) in members { body.writeString(",\"\(name)\":\(json ?? "null")") }
        let user = identity.userID.map(JSONValue.quote) ?? "null"
        body.writeString(",\"user\":\(user),\"master\":\(identity == .master)}")
        return body
    }

    /// The part of an `after…` message before the object; the database generates the rest.
    static func headOfAfterMessage(_ event: Hook.Event, hook: String, collection: String) -> String {
        "{\"event\":\"\(event.rawValue)\",\"hook\":\(JSONValue.quote(hook)),\"collection\":\(JSONValue.quote(collection)),\"object\":"
    }
}
