import Testing

@testable import OperatorCommands

@Suite struct GivenSettingsTests {
    @Test func `a setting reaches each process that has it, and one with a process's name takes precedence`() throws {
        let given = try GivenSettings([
            "MARTLET_MAIL_HOST": "mail.example", "MARTLET_LOG_LEVEL": "debug", "MARTLET_AUTH_LOG_LEVEL": "trace",
            "MARTLET_GATEWAY_TLS_KEY": "key.pem", "MARTLET_FILES_S3_BUCKET": "objects",
            "MARTLET_ANALYTICS_FILES_S3_BUCKET": "crashes",
            "MARTLET_HOOKS_PRIVATE_ALLOWED": "true", "MARTLET_STORAGE_HTTP_PORT": "9", "PATH": "/bin",
        ])
        #expect(given.settings(of: "auth") == ["MARTLET_MAIL_HOST": "mail.example", "MARTLET_LOG_LEVEL": "trace"])
        #expect(given.settings(of: "gateway") == ["MARTLET_LOG_LEVEL": "debug", "MARTLET_TLS_KEY": "key.pem"])
        #expect(
            given.settings(of: "storage") == [
                "MARTLET_LOG_LEVEL": "debug", "MARTLET_FILES_S3_BUCKET": "objects",
                "MARTLET_HOOKS_PRIVATE_ALLOWED": "true",
                "MARTLET_HTTP_PORT": "9",
            ])
        #expect(given.settings(of: "analytics")["MARTLET_FILES_S3_BUCKET"] == "crashes")
        #expect(given.settings(of: "config") == ["MARTLET_LOG_LEVEL": "debug"])
    }

    @Test(
        arguments: [
            "MARTLET_STORAGE_HOOK_PRIVATE_ALLOWED": "Did you mean MARTLET_STORAGE_HOOKS_PRIVATE_ALLOWED?",
            "MARTLET_MIAL_HOST": "Did you mean MARTLET_MAIL_HOST?",
            "MARTLET_HTTP_PORT": "set it for one process, as in MARTLET_STORAGE_HTTP_PORT",
            "MARTLET_CONFIG_MAIL_HOST": "MARTLET_CONFIG_MAIL_HOST is not a setting of Martlet.",
        ])
    func `a setting for no process is refused`(_ name: String, _ part: String) {
        let error = #expect(throws: UpError.self) { try GivenSettings([name: "x"]) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }
}
