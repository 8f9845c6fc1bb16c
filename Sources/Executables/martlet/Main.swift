import AnalyticsService
import ArgumentParser
import AuthService
import ConfigService
import MartletCore
import MartletHTTP
import NotificationsService
import OperatorCommands
import StorageService

/// The `martlet` command. Started under the name of a service, it runs that service: the package and the image have
/// links to it instead of five more programs with the same code.
@main
enum Main {
    static func main() async {
        let name = CommandLine.arguments.first?.split(separator: "/").last.map { String($0) } ?? ""
        switch ServiceName(rawValue: name) {
        case .auth: await ServiceProcess.run(AuthService.self)
        case .storage: await ServiceProcess.run(StorageService.self)
        case .config: await ServiceProcess.run(ConfigService.self)
        case .analytics: await ServiceProcess.run(AnalyticsService.self)
        case .notifications: await ServiceProcess.run(NotificationsService.self)
        case nil: await MartletCommand.main()
        }
    }
}
