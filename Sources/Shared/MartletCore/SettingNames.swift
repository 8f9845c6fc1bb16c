/// The settings of each process. Used to detect misspelled settings, and by `martlet up` to pass each setting to the
/// processes that have it.
///
/// `docs/OPERATIONS.md` describes the settings. A test compares these lists with what the code reads.
public enum SettingNames {
    private static let everywhere = [
        "http.host", "http.port", "internal.host", "internal.port", "internal.secret", "log.level",
        "traces.endpoint", "traces.headers",
    ]
    private static let ofServices = [
        "http.socket", "database.url", "database.connections", "limit.answers.bytes", "limit.bodies.bytes",
    ]
    private static let files = [
        "files.directory", "files.s3.endpoint", "files.s3.bucket", "files.s3.region", "files.s3.key", "files.s3.secret",
    ]
    private static let mail = [
        "mail.host", "mail.port", "mail.tls", "mail.user", "mail.password", "mail.certificates", "mail.from",
        "mail.from.domains", "mail.bounces", "mail.private.allowed",
    ]

    /// The setting keys by process name.
    public static let byProcess: [String: Set<String>] = [
        "gateway": Set(
            everywhere + [
                "routes.file", "dashboard.directory", "keyring.url", "state.directory", "tls.certificate", "tls.key",
                "tls.redirect.port", "tls.challenge.directory", "public.url", "event.loops",
                "log.requests", "cors.origins", "trusted.proxies", "master.networks",
                "limit.key.rate", "limit.key.burst", "limit.address.rate", "limit.address.burst",
                "limit.user.rate", "limit.user.burst", "limit.header.bytes",
                "limit.header.count", "limit.uri.bytes", "limit.body.bytes", "limit.address.inflight",
                "limit.key.inflight", "limit.address.streams", "limit.key.streams", "limit.overload",
                "limit.connections", "limit.address.connections", "limit.body.rate", "limit.answer.rate",
                "timeout.header", "timeout.body", "timeout.stall", "timeout.idle",
                "timeout.connect", "timeout.response", "timeout.drain", "drain.delay", "http.shared",
                "traces.sample", "traces.proxies",
            ] + ServiceName.allCases.map { "upstream." + $0.rawValue }),
        "auth": Set(
            everywhere + ofServices + mail + [
                "audit.days", "backup.directory", "public.url", "password.concurrency", "store.lookup.url",
                "store.icon.domains",
                "export.limit.bytes",
                "identity.private.allowed", "services.storage", "services.config", "services.analytics",
                "services.notifications",
            ]),
        "storage": Set(
            everywhere + ofServices + files + [
                "files.maximumbytes", "files.quota.files", "files.quota.bytes", "files.thumbnails.sizes",
                "files.thumbnails.processes", "files.thumbnails.maximumpixels", "files.thumbnails.directory",
                "files.upload.hours", "files.orphan.hours", "files.history.days", "jobs.concurrency",
                "jobs.retention.hours", "import.limit.bytes", "changes.retention.days", "live.subscribers",
                "live.subscribers.app", "hooks.private.allowed", "services.auth", "services.config",
            ]),
        "config": Set(
            everywhere + ofServices + [
                "memory.bytes", "live.streams", "live.streams.app", "services.auth", "services.storage",
                "services.analytics",
            ]),
        "analytics": Set(
            everywhere + ofServices + files + [
                "public.url", "hooks.private.allowed", "services.auth", "services.notifications", "events.queue",
                "events.queue.bytes", "events.writers", "events.age.days", "crashes.spool.directory",
                "crashes.spool.megabytes", "crashes.attachments.megabytes", "crashes.quota.errors",
                "crashes.quota.sessions", "crashes.quota.attachments", "crashes.quota.feedback",
                "crashes.retention.days", "symbols.symbolizer", "symbols.demangler", "symbols.processes",
                "symbols.memory.bytes", "symbols.file.maximumbytes", "symbols.app.maximumbytes", "symbols.upload.hours",
                "symbols.cache.directory", "symbols.cache.bytes",
            ]),
        "notifications": Set(
            everywhere + ofServices + mail + [
                "public.url", "hooks.private.allowed", "services.auth", "services.storage", "mail.limit.app",
                "mail.limit.address", "mail.limit.day", "mail.retention.days", "push.concurrency", "push.lease",
                "push.journal.directory", "push.messages.days", "push.installations.days", "push.apns.production",
                "push.apns.sandbox", "push.apns.certificates", "push.fcm.url", "push.private.allowed",
            ]),
    ]

    /// Variables for `martlet up`, the scripts in `deploy` and tests, which no process reads as a setting. A trailing
    /// underscore marks a prefix.
    private static let others = [
        "MARTLET_CONFIG_FILE", "MARTLET_PORT", "MARTLET_HOST", "MARTLET_STATE", "MARTLET_BUILD", "MARTLET_DIST",
        "MARTLET_IMAGE", "MARTLET_PROJECT", "MARTLET_PROGRAMS", "MARTLET_VECTORS", "MARTLET_PROMTOOL", "MARTLET_KILLS",
        "MARTLET_RATIO",
        "MARTLET_READY_TIMEOUT", "MARTLET_CONTAINER_ENGINE", "MARTLET_COMPOSE_FILE", "MARTLET_ONLY_", "MARTLET_TEST_",
        "MARTLET_POSTGRES_", "MARTLET_SERVICE_",
    ]

    /// Converts `http.port` to `MARTLET_HTTP_PORT`.
    public static func variable(_ key: String) -> String {
        "MARTLET_" + key.uppercased().split(separator: ".").joined(separator: "_")
    }

    /// Whether a variable that begins with `MARTLET_` is a setting of a process or used by our scripts.
    public static func isKnown(variable name: String) -> Bool {
        variables.contains(name) || variablesOfOne.contains(name)
            || others.contains { $0.hasSuffix("_") ? name.hasPrefix($0) : name == $0 }
            || name.hasSuffix("_REPLICAS")
    }

    /// The error for an unknown variable, with a suggestion.
    ///
    /// - Parameter others: Further names to suggest, besides those of settings.
    public static func refusal(variable name: String, others: [String] = []) -> String {
        "\(name) is not a setting of Martlet." + NearMiss.question(for: name, among: variables.union(others))
    }

    private static let variables = Set(byProcess.values.joined().map(variable))
    /// Variables that include a process name, for `martlet up`.
    private static let variablesOfOne = Set(
        byProcess.flatMap { process, keys in keys.map { variable(process + "." + $0) } })
}
