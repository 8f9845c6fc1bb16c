import MartletCore

/// The secrets that sign requests to hooks.
struct HookSecrets: Sendable {
    private let secrets: WebhookSecrets

    init(internalSecret: Secret) {
        secrets = WebhookSecrets(internalSecret: internalSecret)
    }

    func secret(salt: [UInt8], hook: String, space: AppSchema) -> WebhookSecret {
        secrets.secret(salt: salt, purpose: "martlet hook \(space.schema)/\(hook)")
    }

    /// The current secret, followed by the former one while requests are still signed with it.
    func secrets(of hook: Hook, in space: AppSchema) -> [WebhookSecret] {
        hook.salts.map { secret(salt: $0, hook: hook.name, space: space) }
    }
}
