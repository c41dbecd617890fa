"""Print the folder below PREFIX in which Python looks for overrides of gi."""

import os
import sys

prefix = sys.argv[1]
searched = [path for path in sys.path if path.startswith(os.path.join(prefix, 'lib')) and path.endswith('-packages')]
version = 'python{}.{}'.format(*sys.version_info)
packages = searched[0] if searched else os.path.join(prefix, 'lib', version, 'site-packages')
print(os.path.join(packages, 'gi', 'overrides'))
