import Foundation

/// Writes a self-signed certificate and its key to `cert.pem` and `key.pem` in the directory.
func makeCertificate(_ directory: String, _ name: String) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
        "2", "-subj", "/CN=\(name)", "-keyout", directory + "/key.pem", "-out", directory + "/cert.pem",
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
}
