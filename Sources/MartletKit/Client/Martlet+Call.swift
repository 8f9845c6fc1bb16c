extension Martlet {
    /// Makes a call of the server's API for which MartletKit has no method, as the signed-in user if there is one.
    ///
    /// ```swift
    /// try await martlet.call("POST", "feedback", ["message": "It froze when I paid"])
    /// try await martlet.call("POST", "auth/me/roles", ["code": "4f7k-…"])              // joins a group
    /// let group = try await martlet.call("GET", "roles/lions", query: ["limit": "100"])
    /// ```
    ///
    /// - Parameters:
    ///   - path: The path below `/api/{appKey}/`. The call percent-encodes each part between slashes.
    ///   - isRepeatable: Whether repeating the call after a failure does no harm. `GET` is always repeated.
    /// - Returns: The body of the answer; null if it has none.
    @discardableResult
    public func call(
        _ method: String, _ path: String, _ body: JSON? = nil, query: [String: String] = [:],
        isRepeatable: Bool = false
    ) async throws -> JSON {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map { APIRequest.escape(String($0)) }
        var request = APIRequest(
            method, parts.joined(separator: "/"), json: body, repetition: isRepeatable ? .idempotent : nil)
        request.query = query.map { (name: $0.key, value: $0.value) }
        return try await api.json(request)
    }
}
