import MartletCore

/// The settings passed to `martlet up` for the processes.
///
/// `MARTLET_X` applies to every process that has the setting X. `MARTLET_<PROCESS>_X` applies to one process and takes
/// precedence.
struct GivenSettings {
    /// Settings that must differ between processes, so they can only be given with a process name.
    private static let ofOneProcess: Set<String> = [
        "http.host", "http.port", "http.socket", "internal.host", "internal.port", "internal.secret", "database.url",
        "keyring.url", "routes.file", "state.directory",
    ]

    private let environment: [String: String]

    /// - Throws: `UpError` if no process has the setting. The error suggests the most similar name.
    init(_ environment: [String: String]) throws {
        self.environment = environment
        let forOne = SettingNames.byProcess.keys.flatMap(Self.variables(forOne:)).map(\.variable)
        for name in environment.keys.sorted() where name.hasPrefix("MARTLET_") && !forOne.contains(name) {
            // Used by `martlet up` itself.
            if name == "MARTLET_DATABASE_URL" { continue }
            if let key = Self.ofOneProcess.first(where: { SettingNames.variable($0) == name }) {
                let own = Self.variable(key, forOne: "storage")
                throw UpError("\(name) would be the same for all processes; set it for one process, as in \(own)")
            }
            guard SettingNames.isKnown(variable: name) else {
                throw UpError(SettingNames.refusal(variable: name, others: forOne))
            }
        }
    }

    /// Variables and values for the process.
    func settings(of process: String) -> [String: String] {
        var settings: [String: String] = [:]
        for (key, variable) in Self.variables(forOne: process) {
            let forAll = SettingNames.variable(key)
            let isForAll = !Self.ofOneProcess.contains(key) && !isStorageOnly(key, process)
            settings[forAll] = environment[variable] ?? (isForAll ? environment[forAll] : nil)
        }
        return settings
    }

    /// Storage deletes unknown files from its bucket or folder, so no other process may share it.
    private func isStorageOnly(_ key: String, _ process: String) -> Bool {
        key.hasPrefix("files.") && process != "storage"
    }

    private static func variables(forOne process: String) -> [(key: String, variable: String)] {
        (SettingNames.byProcess[process] ?? []).map { ($0, variable($0, forOne: process)) }
    }

    private static func variable(_ key: String, forOne process: String) -> String {
        SettingNames.variable(process + "." + key)
    }
}
