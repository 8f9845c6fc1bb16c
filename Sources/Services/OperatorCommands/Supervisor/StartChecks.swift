import Foundation
import MartletCore
import NIOCore
import NIOPosix

/// Detects problems before anything is started. Each error is one sentence that says what to do.
enum StartChecks {
    /// - Throws: `UpError` if the folder is a file or cannot be created.
    static func makeFolder(_ folder: URL, mode: Int) throws {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder), !isFolder.boolValue {
            throw UpError("\(folder.path) is a file; expected a folder (--state)")
        }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        } catch {
            throw UpError("cannot create the folder \(folder.path): \((error as NSError).localizedDescription)")
        }
    }

    /// - Throws: `UpError` if the route file is missing or not JSON, or a program is missing.
    static func checkFiles(routes: URL, programs: URL) throws {
        guard let data = FileManager.default.contents(atPath: routes.path) else {
            throw UpError("the gateway's route file is not at \(routes.path) (set it with --routes)")
        }
        guard (try? JSONSerialization.jsonObject(with: data)) != nil else {
            throw UpError("\(routes.path) is not JSON")
        }
        for name in ServerPlan.serviceNames + ["gateway"] {
            let path = programs.appending(path: name).path
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw UpError("the program \(path) is missing or not executable (set its folder with --programs)")
            }
        }
    }

    /// - Throws: `UpError` if it is impossible to listen on the public address.
    static func checkAddress(host: String, port: Int) async throws {
        do {
            let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: host, port: port).get()
            try await channel.close()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw UpError(
                "port \(port) of \(host) is in use by another program (MARTLET_PORT or MARTLET_GATEWAY_HTTP_PORT sets another one)"
            )
        } catch let error as IOError where error.errnoCode == EACCES {
            throw UpError(
                "port \(port) needs more permissions than this user has (MARTLET_PORT or MARTLET_GATEWAY_HTTP_PORT sets another one)"
            )
        } catch {
            throw UpError("\(host) is not an address of this machine (MARTLET_HOST sets another one)")
        }
    }

    /// PostgreSQL starts only if its own user owns the data folder, the group cannot write to it, and others have no
    /// permissions.
    ///
    /// - Throws: `UpError` if the folder belongs to another user or has the wrong mode.
    static func checkDataFolder(_ folder: URL, owner: uid_t) throws {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path) else { return }
        if let id = (attributes[.ownerAccountID] as? NSNumber)?.uint32Value, id != owner {
            throw UpError(
                "the data folder \(folder.path) belongs to the user \(id), not to \(owner), which PostgreSQL runs as (chown)"
            )
        }
        if let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue, mode & 0o027 != 0 {
            throw UpError(
                "the data folder \(folder.path) has the mode \(String(mode, radix: 8)); PostgreSQL requires 700 (chmod)"
            )
        }
    }
}
